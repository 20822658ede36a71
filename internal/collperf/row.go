package collperf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
)

// Row is the result of one algorithm at one size.
type Row struct {
	Case
	Measured
	Comparison
}

// Case is the settings of a row.
type Case struct {
	Size  int64  `json:"size" table:"B,setting,message size"` // bytes that a rank sends or receives, whichever is larger
	Count int    `json:"count" table:",setting"`              // elements of Size, or of its part for each rank
	Type  string `json:"type" table:",setting"`               // dtype
	RedOp string `json:"redop" table:",setting,reduction"`    // "none" if nothing is reduced
	Root  int    `json:"root" table:",setting"`               // -1 if there is no root
}

// Measured is the results of a row. Values that were not measured are null.
type Measured struct {
	TimeUS     *float64 `json:"time_us" table:"µs,lower,time"`                 // from the common start to the end of the last PE, or of the slowest real rank; average of the iterations
	AlgBW      *float64 `json:"algbw" table:"GB/s,higher,algorithm bandwidth"` // size divided by time
	BusBW      *float64 `json:"busbw" table:"GB/s,higher,bus bandwidth"`       // algbw times the traffic per byte; comparable with the bandwidth of a link
	Wrong      *int     `json:"wrong" table:",check,wrong values"`             // wrong elements of all ranks; null if values were not checked
	Algorithm  string   `json:"algorithm,omitempty" table:",result"`           // a setting if it was chosen by name; see [Options.Columns]
	Chunk      *int     `json:"chunk_bytes" table:"B,result,chunk"`            // size that no message exceeds; null for real ranks
	BoundUS    float64  `json:"bound_us" table:"µs,bound,bound"`               // lower bound of the time
	BoundShare *float64 `json:"bound_share" table:"%,result,share of bound"`   // bound divided by time, in percent; null if either is 0
	BoundKind  string   `json:"bound_kind" table:",result"`                    // cut, volume, latency or none
	Bound      string   `json:"bound" table:",result,bound set by"`            // reason for the lower bound
	// PEExec is the time of each rank, averaged over the iterations, with
	// [Options.PerRank]. Simulated ranks are measured from the common start to the end of
	// their last PE, real ranks by their own clocks.
	PEExec []simtime.Time `json:"pe_exec_ns,omitempty"`
}

// Comparison is the results of an algorithm compared with others.
type Comparison struct {
	Best  *bool   `json:"best,omitempty" table:",result"`  // no algorithm with right values was faster; null without a comparison
	Error *string `json:"error,omitempty" table:",result"` // reason why the algorithm was not measured
}

// storedRow is a row in a file of points. It has no settings, because the file stores them
// as the settings of the point.
type storedRow struct {
	Measured
	Comparison
}

// isNamed reports whether the algorithm of a row was chosen by name. Otherwise the library
// or the configuration chooses it.
func (o *Options) isNamed() bool { return o.Algorithm != "" && o.Algorithm != Auto }

// Columns returns the columns of a table of Rows, with the roles that they have under these
// options.
func (o *Options) Columns() []table.Column { return o.setRoles(table.ColumnsOf(Row{})) }

// setRoles changes the roles of those columns whose roles depend on the options: the
// algorithm is a setting if it was chosen by name, and real ranks have no bound.
func (o *Options) setRoles(columns []table.Column) []table.Column {
	for i := range columns {
		switch c := &columns[i]; {
		case c.Name == "algorithm" && o.isNamed():
			c.Role = table.Setting
		case c.Name == "bound_us" && o.Real():
			c.Role = table.Result
		}
	}
	return columns
}

// schema returns the columns of a file of points: the settings of points, and the columns
// of rows. Columns that are settings are not repeated as columns of rows.
func (o *Options) schema() table.Schema {
	s := table.Schema{}
	for _, c := range o.Columns() {
		switch {
		case c.Role == table.Setting:
			s["settings"] = append(s["settings"], c)
		case c.Name != "best": // known only after all algorithms have been measured
			s["row"] = append(s["row"], c)
		}
	}
	return s
}

// rankRow is a line of a table with a line for each rank: a row and the time of one rank.
type rankRow struct {
	Row
	Rank   *int          `json:"rank" table:",setting"`
	PEExec *simtime.Time `json:"pe_exec_ns" table:"ns,lower,time of the rank"`
}

// Table returns rows as a table, with a line for each row or, with [Options.PerRank], for
// each rank of each row.
func (o *Options) Table(rows []Row) (t *table.Table, err error) {
	if o.PerRank {
		var lines []rankRow
		for _, r := range rows {
			for rank, took := range r.PEExec {
				lines = append(lines, rankRow{r, &rank, &took})
			}
			if r.Error != nil {
				lines = append(lines, rankRow{Row: r})
			}
		}
		t, err = table.From(lines)
	} else {
		t, err = table.From(rows)
	}
	if err == nil {
		o.setRoles(t.Columns)
	}
	return t, err
}

// rowCase returns the settings of the rows of the problem.
func (p *problem) rowCase() Case {
	in, out := blocks(p.collective, p.ranks)
	c := Case{Size: int64(max(in, out) * p.count * p.dtype.Size()), Count: p.count, Type: p.dtype.String(), RedOp: "none", Root: -1}
	if p.collective == ccl.Barrier {
		c.Type = "none"
	}
	if p.collective.Reduces() {
		c.RedOp = p.reduction.String()
	}
	if p.collective.Rooted() {
		c.Root = p.root
	}
	return c
}

// row returns a row with the settings and the bound of the problem and with the given time.
// It computes the bandwidths and the share of the bound from the time. A negative time
// means that nothing was measured: the row then has only the settings and the bound. The
// caller sets the fields that only the run determines.
func (p *problem) row(time simtime.Time) Row {
	r := Row{Case: p.rowCase()}
	r.BoundUS, r.BoundKind, r.Bound = microseconds(p.bound.Time), p.bound.Kind.String(), p.bound.Why
	if time < 0 {
		return r
	}
	us, alg := microseconds(time), 0.0
	if time > 0 {
		alg = float64(r.Size) * 1e6 / float64(time) // from bytes per fs to GB/s
	}
	bus := alg * busFactor(p.collective, p.holders())
	r.TimeUS, r.AlgBW, r.BusBW = &us, &alg, &bus
	if time > 0 && p.bound.Time > 0 {
		share := 100 * float64(p.bound.Time) / float64(time)
		r.BoundShare = &share
	}
	return r
}

func microseconds(t simtime.Time) float64 { return float64(t) / float64(simtime.Microsecond) }

// markBest sets Best in rows, the results of all algorithms at one size. Best is true for
// the fastest row without wrong values, or for all such rows if several are equally fast.
func markBest(rows []Row) {
	counts := func(r Row) bool { return r.TimeUS != nil && (r.Wrong == nil || *r.Wrong == 0) }
	least := math.Inf(1)
	for _, r := range rows {
		if counts(r) {
			least = min(least, *r.TimeUS)
		}
	}
	for i, r := range rows {
		best := counts(r) && *r.TimeUS == least
		rows[i].Best = &best
	}
}

// Win is an algorithm, and the number of sizes at which it was best.
type Win struct {
	Algorithm string `json:"algorithm"`
	Sizes     int    `json:"sizes"`
}

// wins returns, for each algorithm of a comparison, the number of sizes at which the
// algorithm was best. The list is in descending order of these numbers.
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

// maxSlowness limits which algorithms a comparison measures. An algorithm whose predicted
// time is more than this many times the best is not simulated, because the simulation would
// take that much longer, too.
const maxSlowness = 30

// tooSlowError is the error for an algorithm that is not simulated because of maxSlowness.
type tooSlowError struct{ times float64 }

func (e *tooSlowError) Error() string {
	return fmt.Sprintf("not measured: by its formula %.0f times as long as the best", e.times)
}

// skipReason returns why a comparison skips an algorithm at a size, given the error of the
// algorithm: the algorithm does not fit, or is far too slow. It returns "" if the error
// means that the algorithm failed.
func skipReason(err error) string {
	if slow, ok := errors.AsType[*tooSlowError](err); ok {
		return slow.Error()
	}
	if full, ok := errors.AsType[*memory.OutOfMemory](err); ok {
		return fmt.Sprintf("does not fit: %v has %v free of %v, asked %v", full.Memory, full.Free, full.Size, full.Asked)
	}
	if over, ok := errors.AsType[*pe.Overflow](err); ok && !over.Freed {
		return fmt.Sprintf("does not fit: TCM has %v free of %v, asked %v", over.Free, over.Size, over.Asked)
	}
	if fit, ok := errors.AsType[*cost.FitError](err); ok {
		return "does not fit: " + fit.Reason
	}
	return ""
}
