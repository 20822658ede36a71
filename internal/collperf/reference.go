package collperf

import "github.com/kernbench/kernbench/tl"

// reference is what ranks are to have: the reduction of all ranks' inputs, or an input.
// Elements come over and over, as those of inputs do.
type reference struct {
	bits   []byte    // of exact ones
	values []float64 // of others
	within []float64 // how far from these a result may be
	from   int       // element that it begins with
}

// block is the reference from block i on.
func (r *reference) block(p *problem, i int) *reference {
	b := *r
	b.from = i * p.count
	return &b
}

// len is how many elements there are before the same come again.
func (r *reference) len(d tl.DType) int {
	if r.bits != nil {
		return len(r.bits) / d.Size()
	}
	return len(r.values)
}

// run is up to n elements from one on, those that lie together.
func (r *reference) run(d tl.DType, at, n int) *reference {
	period := r.len(d)
	at = (r.from + at) % period
	end := min(at+n, period)
	if r.bits != nil {
		return &reference{bits: r.bits[at*d.Size() : end*d.Size()]}
	}
	return &reference{values: r.values[at:end], within: r.within[at:end]}
}
