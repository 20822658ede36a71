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

func (q *trainQueue) pop(all []train) int32 {
	i := q.first
	q.first = all[i].next
	if q.first == 0 {
		q.last = 0
	}
	return i
}
