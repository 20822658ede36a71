package sim

// Pool stores items by number, so that events can refer to them. Numbers are reused. The
// zero Pool is empty.
type Pool[T any] struct {
	items  []T
	unused []int32 // numbers of removed items
}

// Add stores v and returns its number.
func (p *Pool[T]) Add(v T) int32 {
	n := len(p.unused)
	if n == 0 {
		p.items = append(p.items, v)
		return int32(len(p.items) - 1)
	}
	i := p.unused[n-1]
	p.unused = p.unused[:n-1]
	p.items[i] = v
	return i
}

// At returns item i. The pointer is valid until the next Add.
func (p *Pool[T]) At(i int32) *T { return &p.items[i] }

// Take removes item i and returns it.
func (p *Pool[T]) Take(i int32) T {
	v := p.items[i]
	var none T
	p.items[i] = none
	p.unused = append(p.unused, i)
	return v
}

// Len returns the number of stored items.
func (p *Pool[T]) Len() int { return len(p.items) - len(p.unused) }

// FIFO is a queue that reuses its space. The zero FIFO is empty.
type FIFO[T any] struct {
	items []T
	head  int
}

// Len returns the number of items.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// Push adds an item at the end.
func (q *FIFO[T]) Push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	q.items = append(q.items, v)
}

// Front returns the first item of a queue that is not empty.
func (q *FIFO[T]) Front() *T { return &q.items[q.head] }

// At returns item i, counted from the first.
func (q *FIFO[T]) At(i int) *T { return &q.items[q.head+i] }

// Pop removes the first item.
func (q *FIFO[T]) Pop() {
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
