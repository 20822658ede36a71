package fabric

// trainQueue is trains in order of the arrival of their heads.
type trainQueue struct{ first, last int32 }

// push adds a train that has just arrived, behind all that came before.
func (q *trainQueue) push(all []train, i int32) {
	if q.last != 0 && all[i].head < all[q.last].head {
		q.insert(all, i, func(other *train) bool { return other.head > all[i].head })
		return
	}
	all[i].next = 0
	if q.last == 0 {
		q.first = i
	} else {
		all[q.last].next = i
	}
	q.last = i
}

// pushRest puts back the rest of a train, ahead of what arrived at the same time,
// which may be the train behind it.
func (q *trainQueue) pushRest(all []train, i int32) {
	q.insert(all, i, func(other *train) bool { return other.head >= all[i].head })
}

func (q *trainQueue) insert(all []train, i int32, after func(*train) bool) {
	at := &q.first
	for *at != 0 && !after(&all[*at]) {
		at = &all[*at].next
	}
	all[i].next = *at
	if *at == 0 {
		q.last = i
	}
	*at = i
}

// pop takes the first train. If that is at its source, sources take turns: the one
// that offered earliest goes, since they stand back for others, not for each other.
func (q *trainQueue) pop(all []train) int32 {
	before, i := int32(0), q.first
	if all[i].asServed {
		for prev, j := i, all[i].next; j != 0; prev, j = j, all[j].next {
			if all[j].asServed && all[j].offered < all[i].offered {
				before, i = prev, j
			}
		}
	}
	if before == 0 {
		q.first = all[i].next
	} else {
		all[before].next = all[i].next
	}
	if q.last == i {
		q.last = before
	}
	return i
}
