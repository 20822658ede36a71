package collperf

import (
	"context"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/numeric"
	"github.com/kernbench/kernbench/topology"
)

// problem is a collective of one size: what ranks have, and what they are to get.
type problem struct {
	series
	collective ccl.Collective
	ranks      int
	count      int // elements of a block
	values     Values

	inputs [][]byte // by rank; nil for those that have nothing the others get
	result *reference
}

// reference is the reduction of all ranks' inputs.
type reference struct {
	bits   []byte    // of exact ones
	values []float64 // of others
	within []float64 // how far from these a result may be
}

func newProblem(o *Options, s series, ranks int, size topology.Bytes) *problem {
	p := &problem{series: s, collective: o.Collective, ranks: ranks, values: o.Values}
	p.count, _ = round(p.collective, ranks, p.dtype, size)
	return p
}

// mostValues bounds the bytes of all ranks' values, which this computer has to hold.
const mostValues = 8 << 30

// fill makes the inputs and, of collectives that reduce, the reference.
func (p *problem) fill(ctx context.Context) error {
	in, out := blocks(p.collective, p.ranks)
	if bytes := float64(p.ranks) * float64(in+out) * float64(p.count) * float64(p.dtype.Size()); bytes > mostValues {
		return fmt.Errorf("the values of all ranks are %.3g GB, too many to compute here: add --data off, or take smaller sizes", bytes/1e9)
	}
	blocks, _ := blocks(p.collective, p.ranks)
	p.inputs = make([][]byte, p.ranks)
	var total, absolute []float64
	row := make([]float64, blocks*p.count)
	for rank := range p.ranks {
		if (p.collective == ccl.Scatter || p.collective == ccl.Broadcast) && rank != p.root {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		p.inputs[rank] = p.generate(ctx, rank, row)
		if !p.collective.Reduces() {
			continue
		}
		if rank == 0 {
			total, absolute = append(total, row...), make([]float64, len(row))
		}
		for i, x := range row {
			if rank > 0 {
				total[i] = combine(p.reduction, total[i], x)
			}
			absolute[i] += math.Abs(x)
		}
	}
	if p.collective.Reduces() {
		p.result = p.refer(total, absolute)
	}
	return context.Cause(ctx)
}

// lookEvery is how many elements are made before a look at whether they are still wanted.
const lookEvery = 1 << 16

// generate is the elements of a rank, as numbers in row and as bits.
func (p *problem) generate(ctx context.Context, rank int, row []float64) []byte {
	together := 1 // whose elements are combined
	if p.collective.Reduces() {
		together = p.ranks
	}
	next := integers(p.reduction, p.dtype, together, rank)
	if p.isReal() {
		next = reals(p.reduction, together, rank)
	}
	bits := make([]byte, len(row)*p.dtype.Size())
	for i := range row {
		if i%lookEvery == 0 && ctx.Err() != nil {
			break
		}
		row[i] = next(i)
		numeric.Set(p.dtype, bits, i, row[i])
		if p.isReal() { // it was rounded
			row[i] = numeric.Get(p.dtype, bits, i)
		}
	}
	return bits
}

func (p *problem) isReal() bool { return p.values == Reals && p.dtype.IsFloat() }

// refer is the reference, given the reduction in float64 and the sum of absolute
// values.
func (p *problem) refer(total, absolute []float64) *reference {
	if p.reduction == ccl.Avg {
		for i := range total {
			total[i] /= float64(p.ranks)
		}
	}
	if p.isReal() && p.reduction != ccl.Min && p.reduction != ccl.Max {
		for i := range absolute {
			absolute[i] = tolerance(p.reduction, p.dtype, p.ranks, total[i], absolute[i])
		}
		return &reference{values: total, within: absolute}
	}
	bits := make([]byte, len(total)*p.dtype.Size())
	for i, x := range total {
		numeric.Set(p.dtype, bits, i, x)
	}
	return &reference{bits: bits}
}

// want is block j of what a rank is to have in the end, nil if that is its own affair.
func (p *problem) want(rank, j int) *reference {
	switch p.collective {
	case ccl.AllReduce:
		return p.result
	case ccl.Reduce:
		if rank == p.root {
			return p.result
		}
		return &reference{bits: p.inputs[rank]}
	case ccl.Broadcast:
		return &reference{bits: p.inputs[p.root]}
	case ccl.AllGather:
		return &reference{bits: p.inputs[j]}
	case ccl.Gather:
		if rank != p.root {
			return nil
		}
		return &reference{bits: p.inputs[j]}
	case ccl.ReduceScatter:
		return p.result.block(p, rank)
	case ccl.AllToAll:
		return (&reference{bits: p.inputs[j]}).block(p, rank)
	case ccl.Scatter:
		return (&reference{bits: p.inputs[p.root]}).block(p, rank)
	case ccl.SendRecv:
		return &reference{bits: p.inputs[(rank+p.ranks-1)%p.ranks]}
	}
	return nil // of a barrier
}

// block is block i of a reference.
func (r *reference) block(p *problem, i int) *reference {
	from, to := i*p.count, (i+1)*p.count
	if r.bits != nil {
		size := p.dtype.Size()
		return &reference{bits: r.bits[from*size : to*size]}
	}
	return &reference{values: r.values[from:to], within: r.within[from:to]}
}
