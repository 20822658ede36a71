package task

import "math/bits"

// queue is first in first out.
type queue[T any] struct {
	list  []T
	first int
}

func (q *queue[T]) len() int { return len(q.list) - q.first }

// at returns the i-th from the front.
func (q *queue[T]) at(i int) T { return q.list[q.first+i] }

func (q *queue[T]) push(x T) { q.list = append(q.list, x) }

// pop removes the front one.
func (q *queue[T]) pop() T {
	x := q.list[q.first]
	if q.first++; q.first > len(q.list)/2 {
		q.list, q.first = append(q.list[:0], q.list[q.first:]...), 0
	}
	return x
}

// freeCores is a set of compute cores, of which the first can be taken.
type freeCores struct {
	n     int
	words []uint64
}

// newFreeCores returns the cores from 0 to before n.
func newFreeCores(n int) freeCores {
	f := freeCores{words: make([]uint64, (n+63)/64)}
	for core := range n {
		f.put(core)
	}
	return f
}

func (f *freeCores) put(core int) {
	f.words[core/64] |= 1 << (core % 64)
	f.n++
}

// take removes the first, of which there is one.
func (f *freeCores) take() int {
	f.n--
	for i, w := range f.words {
		if w != 0 {
			f.words[i] = w & (w - 1)
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	panic("task: no compute core is free")
}
