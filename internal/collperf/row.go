package collperf

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/table"
)

// Row is the result of one algorithm at one size. Members that were not measured are null.
type Row struct {
	Size       int64    `json:"size" table:"B,setting,message size"`           // the larger of what a rank sends and receives
	Count      int      `json:"count" table:",setting"`                        // elements of it, or of its part for each rank
	Type       string   `json:"type" table:",setting"`                         // dtype
	RedOp      string   `json:"redop" table:",setting,reduction"`              // "none" where nothing is reduced
	Root       int      `json:"root" table:",setting"`                         // -1 where there is none
	TimeUS     *float64 `json:"time_us" table:"µs,lower,time"`                 // from the start on the PEs to the last end, or of the slowest real rank, averaged over the iterations
	AlgBW      *float64 `json:"algbw" table:"GB/s,higher,algorithm bandwidth"` // size by time
	BusBW      *float64 `json:"busbw" table:"GB/s,higher,bus bandwidth"`       // as a share of what links carry
	Wrong      *int     `json:"wrong" table:",check,wrong values"`             // elements over all ranks; null if values were not compared
	Algorithm  string   `json:"algorithm" table:",setting"`                    // [Options.Columns] has the role
	BoundUS    float64  `json:"bound_us" table:"µs,bound,bound"`               // least possible time
	BoundShare *float64 `json:"bound_share" table:"%,result,share of bound"`   // bound by time; null if either is 0
	BoundKind  string   `json:"bound_kind" table:",result"`                    // cut, volume, latency or none
	Bound      string   `json:"bound" table:",result,bound set by"`            // what sets the least possible time
	Best       *bool    `json:"best,omitempty" table:",result"`                // of several algorithms none was faster; null if they were not compared
	Error      *string  `json:"error,omitempty" table:",result"`               // why an algorithm of several has no time
	// PEExec is how long each rank took, averaged over the iterations, with
	// [Options.PerRank]: simulated ranks from the common start to the end of their last PE,
	// real ones by their own clocks.
	PEExec []sim.Time `json:"pe_exec_ns,omitempty"`
}

// Columns returns the columns of rows. The algorithm is a setting where it was named, and a
// result where the library or the configuration chose it. Real ranks have no bound.
func (o *Options) Columns() []table.Column {
	columns := table.ColumnsOf(Row{})
	for i := range columns {
		switch c := &columns[i]; {
		case c.Name == "algorithm" && (o.Algorithm == "" || o.Algorithm == Auto), c.Name == "bound_us" && o.Real():
			c.Role = table.Result
		}
	}
	return columns
}

// rankTimes is what a table has of each rank.
type rankTimes struct {
	Rank   int      `json:"rank" table:",setting"`
	PEExec sim.Time `json:"pe_exec_ns" table:"ns,lower,time of the rank"`
}

// Table returns rows as a table: a line for each row or, with [Options.PerRank], for each
// rank of each row.
func (o *Options) Table(rows []Row) (*table.Table, error) {
	t := &table.Table{Columns: o.Columns()}
	if o.PerRank {
		t.Columns = append(t.Columns, table.ColumnsOf(rankTimes{})...)
	}
	for _, r := range rows {
		cells, err := table.Cells(r)
		if err != nil {
			return nil, err
		}
		if !o.PerRank || r.Error != nil {
			t.Rows = append(t.Rows, append(cells, make([]any, len(t.Columns)-len(cells))...))
			continue
		}
		for rank, took := range r.PEExec {
			own, err := table.Cells(rankTimes{rank, took})
			if err != nil {
				return nil, err
			}
			t.Rows = append(t.Rows, slices.Concat(cells, own))
		}
	}
	return t, nil
}

// SameCase reports whether another row has the same settings but for the algorithm.
func (r *Row) SameCase(s Row) bool {
	return r.Size == s.Size && r.Type == s.Type && r.RedOp == s.RedOp && r.Root == s.Root
}

// row returns the row of a problem that took some time; 0 is a time, and less than 0 none. What
// only the run knows is left to the caller.
func (p *problem) row(time sim.Time) Row {
	in, out := blocks(p.collective, p.ranks)
	r := Row{
		Size: int64(max(in, out) * p.count * p.dtype.Size()), Count: p.count, Type: p.dtype.String(),
		RedOp: "none", Root: -1,
		BoundUS: microseconds(p.bound.Time), BoundKind: p.bound.Kind.String(), Bound: p.bound.Why,
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
	if time < 0 {
		return r
	}
	us, alg := microseconds(time), 0.0
	if time > 0 {
		alg = float64(r.Size) * 1e6 / float64(time) // bytes in fs to GB/s
	}
	bus := alg * busFactor(p.collective, p.holders())
	r.TimeUS, r.AlgBW, r.BusBW = &us, &alg, &bus
	if time > 0 && p.bound.Time > 0 {
		share := 100 * float64(p.bound.Time) / float64(time)
		r.BoundShare = &share
	}
	return r
}

func microseconds(t sim.Time) float64 { return float64(t) / float64(sim.Microsecond) }

// markBest marks the fastest of some rows, if there are several. Equally fast ones are
// all best.
func markBest(rows []Row) {
	var least *float64
	for _, r := range rows {
		if r.TimeUS != nil && (least == nil || *r.TimeUS < *least) {
			least = r.TimeUS
		}
	}
	for i, r := range rows {
		best := r.TimeUS != nil && *r.TimeUS == *least
		rows[i].Best = &best
	}
}

// Win is an algorithm and at how many sizes it was best.
type Win struct {
	Algorithm string `json:"algorithm"`
	Sizes     int    `json:"sizes"`
}

// wins returns the wins of all algorithms that were compared, those with the most first.
func wins(rows []Row) (list []Win) {
	for _, r := range rows {
		i := slices.IndexFunc(list, func(w Win) bool { return w.Algorithm == r.Algorithm })
		if i < 0 {
			i = len(list)
			list = append(list, Win{Algorithm: r.Algorithm})
		}
		if r.Best != nil && *r.Best {
			list[i].Sizes++
		}
	}
	slices.SortStableFunc(list, func(a, b Win) int { return cmp.Compare(b.Sizes, a.Sizes) })
	return list
}
