package sim

// Pool holds things by number, which is how events know them. Numbers are used again. The zero
// Pool is empty.
type Pool[T any] struct {
	things []T
	unused []int32
}

// Add stores a thing and returns its number.
func (p *Pool[T]) Add(v T) int32 {
	n := len(p.unused)
	if n == 0 {
		p.things = append(p.things, v)
		return int32(len(p.things) - 1)
	}
	i := p.unused[n-1]
	p.unused = p.unused[:n-1]
	p.things[i] = v
	return i
}

// At returns thing i. The pointer is valid until another thing is added.
func (p *Pool[T]) At(i int32) *T { return &p.things[i] }

// Take forgets thing i, and returns it.
func (p *Pool[T]) Take(i int32) T {
	v := p.things[i]
	var none T
	p.things[i] = none
	p.unused = append(p.unused, i)
	return v
}

// Len returns the number of things.
func (p *Pool[T]) Len() int { return len(p.things) - len(p.unused) }
