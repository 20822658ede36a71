package collperf

import (
	"cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// smallest is the size after 0, where sizes are multiplied.
const smallest topology.Bytes = 8

// sizes is the sizes to measure.
func (o *Options) sizes() (all []topology.Bytes) {
	if o.Collective == ccl.Barrier {
		return []topology.Bytes{0}
	}
	factor := topology.Bytes(cmp.Or(o.StepFactor, 2))
	for size := o.Min; size <= o.Max; {
		all = append(all, size)
		switch {
		case o.StepBytes > 0:
			size += o.StepBytes
		case size == 0:
			size = smallest
		case size > o.Max/factor:
			return all
		default:
			size *= factor
		}
	}
	return all
}

// blocks is how many blocks of one size a rank sends and receives. Collectives with one
// of each are in place, but for sendrecv.
func blocks(c ccl.Collective, ranks int) (in, out int) {
	switch c {
	case ccl.AllGather, ccl.Gather:
		return 1, ranks
	case ccl.ReduceScatter, ccl.Scatter:
		return ranks, 1
	case ccl.AllToAll:
		return ranks, ranks
	}
	return 1, 1
}

// round is how many elements a block has where the larger of what a rank sends and
// receives is to be of some size, and the size that it then is.
func round(c ccl.Collective, ranks int, d tl.DType, size topology.Bytes) (count int, rounded topology.Bytes) {
	in, out := blocks(c, ranks)
	each := topology.Bytes(max(in, out) * d.Size())
	return int(size / each), size / each * each
}

// busFactor is what the bandwidth of a rank is multiplied by to be that of its link, if
// the algorithm makes the best of it.
func busFactor(c ccl.Collective, ranks int) float64 {
	n := float64(ranks)
	switch c {
	case ccl.AllReduce:
		return 2 * (n - 1) / n
	case ccl.AllGather, ccl.ReduceScatter, ccl.AllToAll:
		return (n - 1) / n
	}
	return 1
}
