package collperf

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
)

// Row is what was found out about one algorithm at one size.
type Row struct {
	Size       int64    `json:"size"`           // the larger of what a rank sends and receives, in bytes
	Count      int      `json:"count"`          // elements of it, or of its part for each rank
	Type       string   `json:"type"`           // dtype
	RedOp      string   `json:"redop"`          // "none" where nothing is reduced
	Root       int      `json:"root"`           // -1 where there is none
	TimeUS     float64  `json:"time_us"`        // from the start on the PEs to the last end, or the slowest real rank's, averaged over the iterations
	AlgBW      float64  `json:"algbw"`          // size by time, in GB/s
	BusBW      float64  `json:"busbw"`          // as a share of what links carry, in GB/s
	Wrong      *int     `json:"wrong"`          // elements over all ranks; null if nobody looked
	Algorithm  string   `json:"algorithm"`      // that did it
	BoundUS    float64  `json:"bound_us"`       // least possible time
	BoundShare *float64 `json:"bound_share"`    // that by time, in %; null if either is 0
	BoundKind  string   `json:"bound_kind"`     // cut, volume, latency or none
	Bound      string   `json:"bound"`          // what sets the least possible time
	Best       bool     `json:"best,omitempty"` // of several algorithms none was faster
	// PEExec is how long each rank took, averaged over the iterations, if that is wanted:
	// simulated ranks from the common start to the end of their last PE, real ones by
	// their own clocks.
	PEExec []sim.Time `json:"pe_exec_ns,omitempty"`
}

// SameCase reports whether another row is about the same, by another algorithm.
func (r *Row) SameCase(s Row) bool {
	return r.Size == s.Size && r.Type == s.Type && r.RedOp == s.RedOp && r.Root == s.Root
}

// row is a row without what the run alone knows.
func (p *problem) row(time sim.Time) Row {
	in, out := blocks(p.collective, p.ranks)
	r := Row{
		Size: int64(max(in, out) * p.count * p.dtype.Size()), Count: p.count, Type: p.dtype.String(),
		RedOp: "none", Root: -1, TimeUS: microseconds(time),
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
	if time > 0 {
		r.AlgBW = float64(r.Size) * 1e6 / float64(time) // bytes in fs to GB/s
		r.BusBW = r.AlgBW * busFactor(p.collective, p.holders())
	}
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
	if len(rows) < 2 {
		return
	}
	least := rows[0].TimeUS
	for _, r := range rows {
		least = min(least, r.TimeUS)
	}
	for i := range rows {
		rows[i].Best = rows[i].TimeUS == least
	}
}

// Win is at how many sizes an algorithm was best.
type Win struct {
	Algorithm string `json:"algorithm"`
	Sizes     int    `json:"sizes"`
}

// wins is that of all algorithms that were compared, those with the most first.
func wins(rows []Row) (list []Win) {
	for _, r := range rows {
		i := slices.IndexFunc(list, func(w Win) bool { return w.Algorithm == r.Algorithm })
		if i < 0 {
			i = len(list)
			list = append(list, Win{Algorithm: r.Algorithm})
		}
		if r.Best {
			list[i].Sizes++
		}
	}
	slices.SortStableFunc(list, func(a, b Win) int { return cmp.Compare(b.Sizes, a.Sizes) })
	return list
}
