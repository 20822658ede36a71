package collperf

import (
	"context"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/torch"
)

// Row is what was found out about one size.
type Row struct {
	Size       int64    `json:"size"`        // the larger of what a rank sends and receives, in bytes
	Count      int      `json:"count"`       // elements of it, or of its part for each rank
	Type       string   `json:"type"`        // dtype
	RedOp      string   `json:"redop"`       // "none" where nothing is reduced
	Root       int      `json:"root"`        // -1 where there is none
	TimeUS     float64  `json:"time_us"`     // from the start on the PEs to the last end, averaged over the iterations
	AlgBW      float64  `json:"algbw"`       // size by time, in GB/s
	BusBW      float64  `json:"busbw"`       // as a share of what links carry, in GB/s
	Wrong      *int     `json:"wrong"`       // elements over all ranks; null if nobody looked
	Algorithm  string   `json:"algorithm"`   // that did it
	BoundShare *float64 `json:"bound_share"` // least possible time by time, in %; null if not known
}

// Summary is what was found out about all sizes.
type Summary struct {
	Ranks    int
	AvgBusBW float64 // GB/s
	Wrong    int
}

// Run measures a collective. onRow, if it is not nil, gets each row when it is done.
func Run(ctx context.Context, o Options, onRow func(Row)) ([]Row, Summary, error) {
	if err := o.Validate(); err != nil {
		return nil, Summary{}, err
	}
	n, err := o.Ranks()
	if err != nil {
		return nil, Summary{}, err
	}
	sum := Summary{Ranks: n}
	var rows []Row
	for _, s := range o.series() {
		for _, size := range o.sizes() {
			row, err := o.measure(ctx, newProblem(&o, s, n, size))
			if err != nil {
				return rows, sum, fmt.Errorf("%v of %d bytes: %w", o.Collective, size, err)
			}
			rows = append(rows, row)
			sum.AvgBusBW += row.BusBW
			if row.Wrong != nil {
				sum.Wrong += *row.Wrong
			}
			if onRow != nil {
				onRow(row)
			}
		}
	}
	sum.AvgBusBW /= float64(len(rows))
	return rows, sum, nil
}

// measure is the row of a problem.
func (o *Options) measure(ctx context.Context, p *problem) (row Row, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *torch.Failure:
			err = v.Err
		case *torch.Error: // such as more elements than a tensor can have
			err = v
		default:
			panic(v)
		}
	}()
	settings, err := o.settings()
	if err != nil {
		return row, err
	}
	c, err := torch.New(ctx, torch.Options{Topology: o.Topology, CCL: o.CCL, Flit: o.Flit, NoData: !o.checks(), Threads: o.Threads})
	if err != nil {
		return row, err
	}
	defer c.Close()
	if o.checks() {
		if err := p.fill(ctx); err != nil {
			return row, err
		}
	}
	wrong, total, iters := 0, sim.Time(0), max(1, o.Iters)
	for range iters {
		result, err := p.execute(c, settings, o.RanksPer)
		if err != nil {
			return row, err
		}
		total += result.end - result.start
		if o.checks() {
			wrong += p.wrong(result.outputs)
		}
	}
	time := total / sim.Time(iters)
	row = p.row(time)
	row.Algorithm = c.Collective.Algorithm
	row.BoundShare = o.boundShare(p, row.Size, time)
	if o.checks() {
		row.Wrong = &wrong
	}
	return row, nil
}

// checks reports whether there are values to compare.
func (o *Options) checks() bool { return !o.NoCheck && o.Collective != ccl.Barrier }

// row is a row without what the run alone knows.
func (p *problem) row(time sim.Time) Row {
	in, out := blocks(p.collective, p.ranks)
	r := Row{
		Size: int64(max(in, out) * p.count * p.dtype.Size()), Count: p.count, Type: p.dtype.String(),
		RedOp: "none", Root: -1, TimeUS: float64(time) / float64(sim.Microsecond),
	}
	if p.collective == ccl.Barrier {
		r.Type = "none"
	}
	if p.collective.Reduces() {
		r.RedOp = p.reduction.String()
	}
	if p.collective.Rooted() {
		r.Root = p.root
	}
	if time > 0 {
		r.AlgBW = float64(r.Size) * 1e6 / float64(time) // bytes in fs to GB/s
		r.BusBW = r.AlgBW * busFactor(p.collective, p.ranks)
	}
	return r
}

// boundShare is how much of the time even the best algorithm would take.
func (o *Options) boundShare(p *problem, size int64, time sim.Time) *float64 {
	least, _, ok := ccl.Bound(o.Topology, o.pes(p.ranks), p.collective, size)
	if !ok || least == 0 || time == 0 {
		return nil
	}
	share := 100 * float64(least) / float64(time)
	return &share
}

// pes is the PEs that hold the ranks' tensors.
func (o *Options) pes(ranks int) (list []int) {
	each := 1
	if s := o.Topology.Spec(); o.RanksPer == PerSIP {
		each = s.CubesPerSIP() * s.PEsPerCube()
	}
	for rank := range ranks {
		list = append(list, rank*each)
	}
	return list
}
