package collperf

import (
	"context"
	"math"
	"sync"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/topology"
)

// problem is a collective of one size, with the inputs of ranks and the expected results.
type problem struct {
	series
	collective ccl.Collective
	ranks      int
	addends    int            // addends of each rank's tensor: 1, or more for partial tensors
	size       topology.Bytes // requested size
	count      int            // elements of a block
	values     Values

	once   sync.Once // prepares the fields below once for all algorithms
	err    error
	inputs [][]byte // elements by holder, before they repeat; nil for holders whose data no rank receives
	result *reference
	bound  bound.Limit
	slow   map[string]float64 // predicted time of each algorithm divided by the lowest; in a comparison only
}

// newProblem returns the problem of a series at a size, which is rounded down to whole
// elements.
func newProblem(o *Options, s series, ranks int, size topology.Bytes) *problem {
	p := &problem{series: s, collective: o.Collective, ranks: ranks, addends: o.addends(), size: size, values: o.Values}
	in, out := blocks(p.collective, ranks)
	p.count = int(size) / (max(in, out) * p.dtype.Size())
	return p
}

// holders returns the number of tensors with input: one for each rank, or for each addend
// of each rank.
func (p *problem) holders() int { return p.ranks * p.addends }

// prepare computes the lower bound of a problem. For a comparison it also predicts the time
// of each algorithm. If values are checked, it generates the inputs and expected results.
// Only the first call does this; later calls return the error of the first.
func (p *problem) prepare(ctx context.Context, o *Options) error {
	p.once.Do(func() {
		p.bound = bound.Compute(o.Topology, o.pes(p.ranks), p.plan())
		if o.Algorithm == AllAlgorithms {
			p.slow, p.err = o.slowness(p)
		}
		if o.checks() && p.err == nil {
			p.err = p.draw(ctx)
		}
	})
	return p.err
}

// plan returns the collective as a ccl.Plan, from which the lower bound is computed.
func (p *problem) plan() *ccl.Plan {
	plan := &ccl.Plan{Collective: p.collective, Ranks: p.holders(), Root: p.root, DType: p.dtype, Counts: []int{p.count}}
	if p.collective == ccl.SendRecv {
		plan.Messages = lists.Make(p.ranks, func(rank int) ccl.Message { return ccl.Message{From: rank, To: (rank + 1) % p.ranks, Count: p.count} })
	}
	return plan
}

// bytes returns the total number of bytes of the inputs and outputs of all holders.
func (p *problem) bytes() float64 {
	in, out := blocks(p.collective, p.ranks)
	return float64(p.holders()) * float64(in+out) * float64(p.count) * float64(p.dtype.Size())
}

// maxValueBytes is the maximum number of bytes of the values of all ranks, which this
// computer must store.
const maxValueBytes = 8 << 30

// draw generates the input of each holder whose data a rank receives. It generates at most
// `period` elements, because the elements of longer inputs repeat after that number. For
// collectives that reduce, it also computes the expected result.
func (p *problem) draw(ctx context.Context) error {
	p.inputs = make([][]byte, p.holders())
	var total, absolute []float64
	reduce := combine[p.reduction]
	blocks, _ := blocks(p.collective, p.ranks)
	row := make([]float64, min(blocks*p.count, period))
	for rank := range p.holders() {
		if (p.collective == ccl.Scatter || p.collective == ccl.Broadcast) && rank != p.root {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		p.inputs[rank] = p.generate(rank, row)
		if !p.collective.Reduces() {
			continue
		}
		if rank == 0 {
			total, absolute = append(total, row...), make([]float64, len(row))
		}
		for i, x := range row {
			if rank > 0 {
				total[i] = reduce(total[i], x)
			}
			absolute[i] += math.Abs(x)
		}
	}
	if p.collective.Reduces() {
		p.result = p.newReference(total, absolute)
	}
	return nil
}

// period is the number of elements before they repeat. It is a prime number, so that
// elements at a distance of a block, a chunk or a row differ.
const period = 65_537

// generate generates the first len(row) elements of a rank's input. It returns them encoded
// in the dtype, and writes their values to row.
func (p *problem) generate(rank int, row []float64) []byte {
	combined := 1 // number of holders whose elements are combined
	if p.collective.Reduces() {
		combined = p.holders()
	}
	next := integers(p.reduction, p.dtype, combined, rank)
	if p.isReal() {
		next = reals(p.reduction, combined, rank)
	}
	bits := make([]byte, len(row)*p.dtype.Size())
	for i := range row {
		row[i] = next(i)
		numeric.Set(p.dtype, bits, i, row[i])
		if p.isReal() { // take the rounded value
			row[i] = numeric.Get(p.dtype, bits, i)
		}
	}
	return bits
}

func (p *problem) isReal() bool { return p.values == Reals && p.dtype.IsFloat() }

// newReference returns the expected result of a reduction. `total` is the reduction of all
// inputs in float64, and `absolute` is the sum of their absolute values, both by element.
// newReference overwrites both slices.
func (p *problem) newReference(total, absolute []float64) *reference {
	if p.reduction == ccl.Avg {
		for i := range total {
			total[i] /= float64(p.ranks)
			if !p.dtype.IsFloat() {
				total[i] = math.Trunc(total[i])
			}
		}
	}
	if p.isReal() && p.reduction != ccl.Min && p.reduction != ccl.Max {
		for i := range absolute {
			absolute[i] = tolerance(p.reduction, p.dtype, p.holders(), p.ranks, total[i], absolute[i])
		}
		return &reference{values: total, within: absolute}
	}
	bits := make([]byte, len(total)*p.dtype.Size())
	for i, x := range total {
		numeric.Set(p.dtype, bits, i, x)
	}
	return &reference{bits: bits}
}

// want returns the expected block j of a rank's output, or nil if the block is not checked.
func (p *problem) want(rank, j int) *reference {
	input := func(rank, block int) *reference { return &reference{bits: p.inputs[rank], from: block * p.count} }
	switch c := p.collective; {
	case c == ccl.AllReduce || c == ccl.Reduce && rank == p.root:
		return p.result
	case c == ccl.Reduce:
		return input(rank, 0)
	case c == ccl.Broadcast:
		return input(p.root, 0)
	case c == ccl.AllGather || c == ccl.Gather && rank == p.root:
		return input(j, 0)
	case c == ccl.ReduceScatter:
		return &reference{p.result.bits, p.result.values, p.result.within, rank * p.count}
	case c == ccl.AllToAll:
		return input(j, rank)
	case c == ccl.Scatter:
		return input(p.root, rank)
	case c == ccl.SendRecv:
		return input((rank+p.ranks-1)%p.ranks, 0)
	}
	return nil // a barrier, or a gather at ranks other than the root
}
