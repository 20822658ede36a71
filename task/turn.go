package task

// turn keeps compute cores for tasks that have not started, so that tasks which wait for
// other ranks cannot take all of them from those that these ranks wait for.
//
// A task may start before older ones only if each of those could still have the cores that
// it needs: without the ones that tasks younger than the oldest of them hold. So the
// oldest task that has not started can start at the latest when all older ones have ended,
// and a program whose tasks could run one by one, in the order of submission, never stands
// still for want of cores. With one core that is the order in which they run.
type turn struct {
	program *Program
	started []bool
	ended   []bool
	oldest  ID      // the first task that has not started
	younger int     // cores that tasks behind it hold
	largest maxTree // members of tasks that have not started
}

// grow adds the tasks that a program has more than before.
func (t *turn) grow(p *Program) {
	more := make([]bool, len(p.Tasks)-len(t.started))
	t.program, t.started, t.ended = p, append(t.started, more...), append(t.ended, more...)
	t.largest.grow(p)
}

// start notes that a task has started.
func (t *turn) start(id ID) {
	t.started[id] = true
	t.largest.clear(int(id))
	t.younger += t.program.Tasks[id].Members
	for int(t.oldest) < len(t.started) && t.started[t.oldest] {
		if !t.ended[t.oldest] { // it is older than the oldest now
			t.younger -= t.program.Tasks[t.oldest].Members
		}
		t.oldest++
	}
}

// leave notes that a task has ended.
func (t *turn) leave(id ID) {
	t.ended[id] = true
	if id > t.oldest {
		t.younger -= t.program.Tasks[id].Members
	}
}

// maxTree is the members of tasks, with the largest of each half, quarter and so on.
type maxTree struct {
	tasks int
	n     int     // leaves: tasks that there is room for
	node  []int32 // the leaves are the second half
}

// grow adds the tasks that a program has more than the tree.
func (t *maxTree) grow(p *Program) {
	old := *t
	if len(p.Tasks) > t.n {
		t.n = max(len(p.Tasks), 2*old.n)
		t.node = make([]int32, 2*t.n)
		copy(t.node[t.n:], old.node[old.n:])
	}
	for ; t.tasks < len(p.Tasks); t.tasks++ {
		i := t.n + t.tasks
		t.node[i] = int32(p.Tasks[t.tasks].Members)
		if t.n == old.n {
			t.raise(i)
		}
	}
	for i := t.n - 1; i > 0 && t.n > old.n; i-- {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// raise corrects the nodes above a leaf.
func (t *maxTree) raise(i int) {
	for i /= 2; i > 0; i /= 2 {
		t.node[i] = max(t.node[2*i], t.node[2*i+1])
	}
}

// clear removes a task.
func (t *maxTree) clear(i int) {
	t.node[t.n+i] = 0
	t.raise(t.n + i)
}

// before returns the largest of the tasks before one.
func (t *maxTree) before(i int) int {
	most := int32(0)
	for lo, hi := t.n, t.n+i; lo < hi; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			most = max(most, t.node[lo])
			lo++
		}
		if hi%2 == 1 {
			hi--
			most = max(most, t.node[hi])
		}
	}
	return int(most)
}
