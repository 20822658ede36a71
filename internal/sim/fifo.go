package sim

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

// Pop removes the first item.
func (q *FIFO[T]) Pop() {
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
