package collperf

import (
	"bytes"
	"math"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// wrong returns how many elements of all ranks are wrong in the end. In an all-reduce every
// rank has to have the same bits as well.
func (p *problem) wrong(outputs [][]byte) (n int) {
	for rank, out := range outputs {
		same := out
		if p.collective == ccl.AllReduce {
			same = outputs[0]
		}
		n += p.wrongAt(rank, out, same)
	}
	return n
}

// compared returns how many elements of the ranks are compared.
func (p *problem) compared() (n int) {
	_, blocks := blocks(p.collective, p.ranks)
	for rank := range p.holders() {
		for j := range blocks {
			if p.want(rank, j) != nil {
				n += p.count
			}
		}
	}
	return n
}

// wrongAt returns how many elements of a rank's output are wrong, or not the same as others.
func (p *problem) wrongAt(rank int, out, same []byte) (n int) {
	_, blocks := blocks(p.collective, p.ranks)
	size := p.count * p.dtype.Size()
	for j := range blocks {
		if want := p.want(rank, j); want != nil {
			n += p.differ(out[j*size:(j+1)*size], same[j*size:(j+1)*size], want)
		}
	}
	return n
}

// differ returns how many elements are not as wanted, or not the same as others.
func (p *problem) differ(got, same []byte, want *reference) (n int) {
	size := p.dtype.Size()
	for at := 0; at < p.count; {
		from, to := want.run(p.dtype, at, p.count-at)
		end := at + to - from
		if want.bits == nil || !bytes.Equal(got[at*size:end*size], want.bits[from*size:to*size]) {
			for i := range to - from {
				bits := got[(at+i)*size : (at+i+1)*size]
				switch {
				case want.bits != nil && bytes.Equal(bits, want.bits[(from+i)*size:(from+i+1)*size]):
				case want.bits == nil && bytes.Equal(bits, same[(at+i)*size:(at+i+1)*size]) &&
					math.Abs(numeric.Get(p.dtype, bits, 0)-want.values[from+i]) <= want.within[from+i]:
				default:
					n++
				}
			}
		}
		at = end
	}
	return n
}

// reference is what ranks are to have: the reduction of all ranks' inputs, or an input.
// Elements come over and over, as those of inputs do.
type reference struct {
	bits   []byte    // of exact ones
	values []float64 // of others
	within []float64 // how far from these a result may be
	from   int       // element that it begins with
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
