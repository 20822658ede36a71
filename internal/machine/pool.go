package machine

// pool holds things by number, which is how events know them. Numbers are used again.
type pool[T any] struct {
	all    []T
	unused []int
}

// add stores a thing and is its number.
func (p *pool[T]) add(v T) int {
	if n := len(p.unused); n > 0 {
		k := p.unused[n-1]
		p.unused = p.unused[:n-1]
		p.all[k] = v
		return k
	}
	p.all = append(p.all, v)
	return len(p.all) - 1
}

// at is thing k, until another is added.
func (p *pool[T]) at(k uint64) *T { return &p.all[k] }

// drop forgets thing k, and is what it was.
func (p *pool[T]) drop(k uint64) T {
	v := p.all[k]
	var none T
	p.all[k] = none
	p.unused = append(p.unused, int(k))
	return v
}
