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

// run returns where up to n elements from one on lie that lie together.
func (r *reference) run(d tl.DType, at, n int) (from, to int) {
	period := len(r.values) // elements before the same come again
	if r.bits != nil {
		period = len(r.bits) / d.Size()
	}
	from = (r.from + at) % period
	return from, min(from+n, period)
}
