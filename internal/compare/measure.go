package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Measured is a reference with our own numbers.
type Measured struct {
	*Reference
	Systems    []string     `json:"systems"`    // that ours were measured on: "preset ring6 (hash 88275a90ffa3)"
	Difference string       `json:"difference"` // in a line
	Schema     table.Schema `json:"schema"`
	Rows       *table.Table `json:"rows"`    // theirs and ours
	Version    string       `json:"version"` // of kernbench
}

// nearest is how ours are measured for each reference, and what is different about them.
var nearest = map[string]struct {
	run        func(*lab, *Reference) *table.Table
	difference string
}{
	"allreduce_lower_bounds": {runBounds, "theirs is the optimum of any algorithm; bound is ours, which is never weaker on these six but for their rounding, and takes is the fastest algorithm here at 16 MiB"},
	"fsim":                   {runFSIM, "nothing is known to compare with: theirs is an unknown workload on one device, ours an all-reduce over 6 SIPs, and the ratio says nothing about either"},
	"tenstorrent_blackhole":  {runBlackhole, "theirs has barriers and the set-up of a call in it, and a reduce-scatter that does not keep links busy; call_us, what like lacks at the smallest size of each series, is all that is fitted"},
	"torus6_buffer_kind":     {runTorus6, "theirs is of another machine, and its times grow as if tensors moved whole from hop to hop; ours move in chunks that overlap"},
}

// Measure measures what comes nearest to a reference on our machines.
func Measure(ctx context.Context, name string) (m *Measured, err error) {
	r, err := GetReference(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := torch.Recovered(recover()); failed != nil {
			m, err = nil, fmt.Errorf("ours beside %s: %w", name, failed)
		}
	}()
	l := &lab{ctx: ctx}
	t := nearest[name].run(l, r)
	return &Measured{r, l.systems, nearest[name].difference, table.Schema{"rows": t.Columns}, t, version.Version}, nil
}

// WriteCSV writes the rows.
func (m *Measured) WriteCSV(w io.Writer) error { return m.Rows.WriteCSV(w) }

// WriteText writes what is known of the reference, the rows, and what is different about ours.
func (m *Measured) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# reference: %s, %s\n", m.Name, m.Title)
	m.writeKnown(w, "# ")
	writeLines(w, "# ours on", m.Systems)
	fmt.Fprintln(w)
	if err := m.Rows.WriteText(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\ndifferent: %s\n", m.Difference)
	return err
}

// lab measures on systems, and remembers which. Its methods panic with errors, which Measure
// returns.
type lab struct {
	ctx     context.Context
	systems []string
}

// system compiles a preset with some values changed, whatever files there are.
func (l *lab) system(preset string, sets ...string) *topology.Graph {
	spec := torch.Must(topology.Parse("preset "+preset, torch.Must(topology.PresetSource(preset)), sets...))
	if name := topology.OriginOf(spec).String(); !slices.Contains(l.systems, name) {
		l.systems = append(l.systems, name)
	}
	return torch.Must(topology.Compile(spec))
}

// measure returns the row of a collective at one size by one algorithm, or by the fastest of all,
// the first of several. Ranks are SIPs; values are not computed. Errors begin with what is
// measured.
func (l *lab) measure(what string, o collperf.Options, size topology.Bytes) collperf.Row {
	o.Min, o.Max, o.RanksPer, o.NoCheck = size, size, collperf.PerSIP, true
	rows, _, err := collperf.Run(l.ctx, o, nil)
	best := 0
	if err == nil && o.Algorithm == collperf.AllAlgorithms {
		if best = slices.IndexFunc(rows, func(r collperf.Row) bool { return r.Best != nil && *r.Best }); best < 0 {
			err = fmt.Errorf("no algorithm for %v of %d bytes: %s", o.Collective, size, *rows[0].Error)
		}
	}
	if err != nil {
		torch.OK(fmt.Errorf("%s: %w", what, err))
	}
	return rows[best]
}

// fixed returns a number with some places behind the point.
func fixed(x float64, places int) json.Number {
	return json.Number(strconv.FormatFloat(x, 'f', places, 64))
}

// ratio returns how many times theirs ours is.
func ratio(ours, theirs float64) json.Number { return fixed(ours/theirs, 3) }

type fsimRow struct {
	System string      `json:"system" table:",setting"`
	Elems  int         `json:"n_elem" table:",setting,elements"`
	Bytes  int         `json:"bytes_per_pe" table:"B,setting"`
	Theirs json.Number `json:"theirs_us" table:"µs,result"`
	Ours   json.Number `json:"ours_us" table:"µs,lower"`
	Ratio  json.Number `json:"ratio" table:",result"`
}

// runFSIM measures the all-reduce of milestone-1h-ccl, since nothing is known to be alike.
func runFSIM(l *lab, r *Reference) *table.Table {
	var rows []fsimRow
	for _, preset := range []string{"ring6", "torus2x3", "mesh2x3"} {
		g := l.system(preset)
		for _, elems := range []int{128, 32768} {
			const f16 = 2 // bytes
			ours := *l.measure(preset, collperf.Options{
				Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true,
			}, topology.Bytes(elems*f16)).TimeUS
			rows = append(rows, fsimRow{preset, elems, elems * f16, r.digits(0, "latency_us"), fixed(ours, 3), ratio(ours, r.Number(0, "latency_us"))})
		}
	}
	return torch.Must(table.From(rows))
}

type torus6Row struct {
	Kind   string       `json:"buffer_kind" table:",setting"`
	Elems  json.Number  `json:"n_elem" table:",setting,elements"`
	Bytes  json.Number  `json:"bytes_per_pe" table:"B,setting"`
	Theirs json.Number  `json:"theirs_ns" table:"ns,result"`
	Ours   simtime.Time `json:"ours_ns" table:"ns,lower"`
	Ratio  json.Number  `json:"ratio" table:",result"`
}

// runTorus6 does what the bench center_root_buffers does.
func runTorus6(l *lab, r *Reference) *table.Table {
	g := l.system("torus2x3", "system.sips.w=3", "system.sips.h=2")
	var rows []torus6Row
	for i := range r.Table.Rows {
		kind, size := r.Text(i, "buffer_kind"), r.Number(i, "bytes_per_pe")
		ours := *l.measure(fmt.Sprintf("slots in %s, %v bytes", kind, size), collperf.Options{
			Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true, Buffer: topology.BufferKind(kind),
		}, topology.Bytes(size)).TimeUS
		rows = append(rows, torus6Row{
			kind, r.digits(i, "n_elem"), r.digits(i, "bytes_per_pe"), r.digits(i, "latency_ns"),
			simtime.Time(math.Round(ours * 1e9)), ratio(ours*1000, r.Number(i, "latency_ns")),
		})
	}
	return torch.Must(table.From(rows))
}

const (
	tried = 1 << 20  // bytes at which all algorithms are tried
	large = 16 << 20 // bytes of a large message, for the best of them
)

// boundsRow has times in M/b.
type boundsRow struct {
	Topology   string      `json:"topology" table:",setting"`
	Nodes      json.Number `json:"nodes" table:",setting"`
	Optimum    json.Number `json:"optimum" table:"M/b,bound"`
	EqualShard json.Number `json:"equal_shard" table:"M/b,bound"`
	Bound      json.Number `json:"bound" table:"M/b,bound"`
	BoundRatio json.Number `json:"bound_ratio" table:",result"`
	Best       string      `json:"best" table:",result"`
	Takes      json.Number `json:"takes" table:"M/b,lower,time"`
	Ratio      json.Number `json:"ratio" table:",result"`
}

// runBounds measures our bound and the fastest algorithm on each fabric. All algorithms are
// tried at 1 MiB, and the fastest is measured at 16 MiB.
func runBounds(l *lab, r *Reference) *table.Table {
	var rows []boundsRow
	for i := range r.Table.Rows {
		fabric, optimum := r.Text(i, "topology"), r.Number(i, "optimum")
		g := l.system("alpha_beta", fabricSets(fabric, r.Text(i, "nodes"))...)
		o := collperf.Options{Topology: g, Collective: ccl.AllReduce, Algorithm: collperf.AllAlgorithms}
		o.Algorithm = l.measure(fabric, o, tried).Algorithm
		row := l.measure(fabric, o, large)
		unit := large / float64(g.Spec().System.SIPs.Link.Bandwidth) * 1e6 // M/b in µs
		rows = append(rows, boundsRow{
			fabric, r.digits(i, "nodes"), r.digits(i, "optimum"), r.digits(i, "equal_shard"),
			fixed(row.BoundUS/unit, 3), ratio(row.BoundUS/unit, optimum),
			row.Algorithm, fixed(*row.TimeUS/unit, 3), ratio(*row.TimeUS/unit, optimum),
		})
	}
	return torch.Must(table.From(rows))
}

// fabricSets returns a fabric, "torus_2d 2x3", as changes of a preset.
func fabricSets(fabric, nodes string) []string {
	kind, grid, _ := strings.Cut(fabric, " ")
	sets := []string{"system.sips.topology=" + kind, "system.sips.count=" + nodes}
	if w, h, ok := strings.Cut(grid, "x"); ok {
		sets = append(sets, "system.sips.w="+w, "system.sips.h="+h)
	}
	return sets
}
