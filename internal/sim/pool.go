package sim

import "sync"

// Pool stores items by number, so that events can refer to them. Numbers are reused. Items do
// not move. The zero Pool is empty; Get and Add make it ready for the other methods.
//
// Threads can share the items of a pool: each uses a Pool of its own (see Share).
type Pool[T any] struct {
	chunks *[poolChunks]*[poolChunk]T
	unused []int32 // numbers of removed items
	used   int     // numbers that Get returned, less those that Put removed
	store  *poolStore[T]
}

// poolStore is what pools share.
type poolStore[T any] struct {
	lock   sync.Mutex
	chunks [poolChunks]*[poolChunk]T // a thread reads those only whose numbers it knows
	filled int                       // number of chunks
	unused []int32                   // numbers that no pool has in its list
	pools  []*Pool[T]
}

const (
	poolChunk  = 256           // items that are allocated at a time
	poolChunks = 1 << 14       // most of them
	mostSpare  = 4 * poolChunk // unused numbers that a pool keeps for itself if it shares them
)

// Share makes p, which is empty, share the items of q. p must not move.
func (p *Pool[T]) Share(q *Pool[T]) {
	q.init()
	p.chunks, p.store = q.chunks, q.store
	p.store.pools = append(p.store.pools, p)
}

// init prepares p for its first item.
func (p *Pool[T]) init() {
	if p.store == nil {
		p.store = &poolStore[T]{pools: []*Pool[T]{p}}
		p.chunks = &p.store.chunks
	}
}

// Get returns an unused number and its item, which is as it was when the number was last in
// use.
func (p *Pool[T]) Get() (int32, *T) {
	n := len(p.unused)
	if n == 0 {
		n = p.refill()
	}
	i := p.unused[n-1]
	p.unused = p.unused[:n-1]
	p.used++
	return i, p.At(i)
}

// refill gets unused numbers from the store, and returns how many.
//
//go:noinline
func (p *Pool[T]) refill() int {
	p.init()
	s := p.store
	s.lock.Lock()
	defer s.lock.Unlock()
	if n := len(s.unused); n > 0 {
		take := min(n, poolChunk)
		p.unused = append(p.unused, s.unused[n-take:]...)
		s.unused = s.unused[:n-take]
	} else {
		s.chunks[s.filled] = new([poolChunk]T)
		for i := poolChunk - 1; i >= 0; i-- {
			p.unused = append(p.unused, int32(s.filled*poolChunk+i))
		}
		s.filled++
	}
	return len(p.unused)
}

// Put removes item i, but keeps its value.
func (p *Pool[T]) Put(i int32) {
	p.unused = append(p.unused, i)
	if p.used--; len(p.unused) > mostSpare && len(p.store.pools) > 1 {
		p.giveBack()
	}
}

// giveBack returns half of the unused numbers to the store.
//
//go:noinline
func (p *Pool[T]) giveBack() {
	s := p.store
	s.lock.Lock()
	defer s.lock.Unlock()
	s.unused = append(s.unused, p.unused[:mostSpare/2]...)
	p.unused = p.unused[:copy(p.unused, p.unused[mostSpare/2:])]
}

// Add stores v and returns its number.
func (p *Pool[T]) Add(v T) int32 {
	i, item := p.Get()
	*item = v
	return i
}

// At returns item i.
func (p *Pool[T]) At(i int32) *T { return &p.chunks[uint32(i)/poolChunk][uint32(i)%poolChunk] }

// Take removes item i and returns it.
func (p *Pool[T]) Take(i int32) T {
	item := p.At(i)
	v := *item
	var none T
	*item = none
	p.Put(i)
	return v
}

// Len returns the number of stored items of all pools that share them.
func (p *Pool[T]) Len() (n int) {
	if p.store != nil {
		for _, q := range p.store.pools {
			n += q.used
		}
	}
	return n
}

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
