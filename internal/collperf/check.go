package collperf

import (
	"bytes"
	"math"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// countWrong returns the number of wrong elements in the outputs of all ranks. In an
// all-reduce all ranks must also have the same bits.
func (p *problem) countWrong(outputs [][]byte) (n int) {
	for rank, out := range outputs {
		same := out
		if p.collective == ccl.AllReduce {
			same = outputs[0]
		}
		n += p.countWrongAt(rank, out, same)
	}
	return n
}

// numCompared returns how many elements countWrong checks, over all ranks.
func (p *problem) numCompared() (n int) {
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

// countWrongAt returns the number of wrong elements in `out`, the output of the given rank.
// Where rounding permits several results, an element is also wrong if its bits differ from
// those in `same`, the output of another rank.
func (p *problem) countWrongAt(rank int, out, same []byte) (n int) {
	_, blocks := blocks(p.collective, p.ranks)
	size := p.count * p.dtype.Size()
	for j := range blocks {
		if want := p.want(rank, j); want != nil {
			n += p.countDifferent(out[j*size:(j+1)*size], same[j*size:(j+1)*size], want)
		}
	}
	return n
}

// countDifferent returns the number of wrong elements in `got`, a block of a rank's output.
// If `want` has exact bits, every element must have these bits. Otherwise it must be within
// the tolerance of `want` and have the same bits as in `same`, the block of another rank.
func (p *problem) countDifferent(got, same []byte, want *reference) (n int) {
	size := p.dtype.Size()
	for at := 0; at < p.count; {
		from, to := want.span(p.dtype, at, p.count-at)
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

// reference is the expected elements of a rank: the reduction of all inputs, or a copy of
// one input. The elements repeat after a period, because the elements of inputs do.
type reference struct {
	bits   []byte    // expected bits, if they are exact; otherwise nil
	values []float64 // expected values, if they are not exact
	within []float64 // maximum difference of a result from values
	from   int       // index of the first element
}

// span returns the range of stored elements that corresponds to the n elements from index
// `at` on. The stored elements repeat. If they end before the n elements do, the range has
// fewer than n elements, and the next element is the first stored element.
func (r *reference) span(d tl.DType, at, n int) (from, to int) {
	period := len(r.values) // elements before they repeat
	if r.bits != nil {
		period = len(r.bits) / d.Size()
	}
	from = (r.from + at) % period
	return from, min(from+n, period)
}
