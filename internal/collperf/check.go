package collperf

import (
	"bytes"
	"math"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/numeric"
)

// wrong is how many elements of what the ranks have in the end are not what they are to
// be. Of an all-reduce every rank has to have the same bits as well.
func (p *problem) wrong(outputs [][]byte) (n int) {
	_, blocks := blocks(p.collective, p.ranks)
	size := p.count * p.dtype.Size()
	for rank, out := range outputs {
		for j := range blocks {
			want := p.want(rank, j)
			if want == nil {
				continue
			}
			same := out
			if p.collective == ccl.AllReduce {
				same = outputs[0]
			}
			n += p.differ(out[j*size:(j+1)*size], same[j*size:(j+1)*size], want)
		}
	}
	return n
}

// differ is how many elements are not as wanted, or not the same as others.
func (p *problem) differ(got, same []byte, want *reference) (n int) {
	if bytes.Equal(got, want.bits) && want.bits != nil {
		return 0
	}
	size := p.dtype.Size()
	for i := range p.count {
		bits := got[i*size : (i+1)*size]
		switch {
		case want.bits != nil && bytes.Equal(bits, want.bits[i*size:(i+1)*size]):
		case want.bits == nil && bytes.Equal(bits, same[i*size:(i+1)*size]) &&
			math.Abs(numeric.Get(p.dtype, got, i)-want.values[i]) <= want.within[i]:
		default:
			n++
		}
	}
	return n
}
