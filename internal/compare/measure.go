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

// Measured is a reference together with our own numbers.
type Measured struct {
	*Reference
	Systems    []string     `json:"systems"`    // the systems of our measurements: "preset ring6 (hash 88275a90ffa3)"
	Difference string       `json:"difference"` // a line about how ours differ from theirs
	Schema     table.Schema `json:"schema"`
	Rows       *table.Table `json:"rows"`    // their numbers and ours
	Version    string       `json:"version"` // version of kernbench
}

// measurements maps the name of a reference to the function that measures our numbers, and
// to a text about how our measurement differs from the published one.
var measurements = map[string]struct {
	run        func(*measurer, *Reference) *table.Table
	difference string
}{
	"allreduce_lower_bounds": {runBounds, "theirs is the optimum of any algorithm; bound is ours, which is never weaker on these six but for their rounding, and takes is the fastest algorithm here at 16 MiB"},
	"fsim":                   {runFSIM, "nothing is known to compare with: theirs is an unknown workload on one device, ours an all-reduce over 6 SIPs, and the ratio says nothing about either"},
	"tenstorrent_blackhole":  {runBlackhole, "theirs has barriers and the set-up of a call in it, and a reduce-scatter that does not keep links busy; call_us, what like lacks at the smallest size of each series, is all that is fitted"},
	"torus6_buffer_kind":     {runTorus6, "their numbers are from another machine, and its times grow as if tensors moved whole from hop to hop; ours move in chunks that overlap"},
}

// Measure runs, on simulated machines, the measurements that are most similar to the named
// reference. It returns the published numbers together with ours.
func Measure(ctx context.Context, name string) (m *Measured, err error) {
	r, err := GetReference(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := torch.Recovered(recover()); failed != nil {
			m, err = nil, fmt.Errorf("compare with %s: %w", name, failed)
		}
	}()
	l := &measurer{ctx: ctx}
	t := measurements[name].run(l, r)
	return &Measured{r, l.systems, measurements[name].difference, table.Schema{"rows": t.Columns}, t, version.Version}, nil
}

// WriteCSV writes the rows.
func (m *Measured) WriteCSV(w io.Writer) error { return m.Rows.WriteCSV(w) }

// WriteText writes what is known about the reference, the simulated systems, the rows, and
// how our measurements differ from the published ones.
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

// measurer measures collectives on systems and records which systems it used. Its methods
// panic with errors, which Measure returns.
type measurer struct {
	ctx     context.Context
	systems []string
}

// system compiles a preset with the changed settings in `sets`, and adds its name to
// l.systems. It ignores configuration files.
func (l *measurer) system(preset string, sets ...string) *topology.Graph {
	spec := torch.Must(topology.Parse("preset "+preset, torch.Must(topology.PresetSource(preset)), sets...))
	if name := topology.OriginOf(spec).String(); !slices.Contains(l.systems, name) {
		l.systems = append(l.systems, name)
	}
	return torch.Must(topology.Compile(spec))
}

// measure measures a collective at one size and returns its row. If the options select all
// algorithms, it returns the row of the fastest algorithm, or the first of several that are
// equally fast. Ranks are SIPs, and values are not computed. measure panics as package
// torch does if the measurement fails; the message begins with the text in `what`.
func (l *measurer) measure(what string, o collperf.Options, size topology.Bytes) collperf.Row {
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

// formatFixed formats a number with the given number of decimal places.
func formatFixed(x float64, places int) json.Number {
	return json.Number(strconv.FormatFloat(x, 'f', places, 64))
}

// ratio returns our number divided by the published number, with three decimal places.
func ratio(ours, theirs float64) json.Number { return formatFixed(ours/theirs, 3) }

type fsimRow struct {
	System string      `json:"system" table:",setting"`
	Elems  int         `json:"n_elem" table:",setting,elements"`
	Bytes  int         `json:"bytes_per_pe" table:"B,setting"`
	Theirs json.Number `json:"theirs_us" table:"µs,result"`
	Ours   json.Number `json:"ours_us" table:"µs,lower"`
	Ratio  json.Number `json:"ratio" table:",result"`
}

// runFSIM measures the all-reduce of milestone-1h-ccl, because the workload of the
// reference is not known.
func runFSIM(l *measurer, r *Reference) *table.Table {
	var rows []fsimRow
	for _, preset := range []string{"ring6", "torus2x3", "mesh2x3"} {
		g := l.system(preset)
		for _, elems := range []int{128, 32768} {
			const f16 = 2 // bytes
			ours := *l.measure(preset, collperf.Options{
				Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true,
			}, topology.Bytes(elems*f16)).TimeUS
			rows = append(rows, fsimRow{preset, elems, elems * f16, r.digits(0, "latency_us"), formatFixed(ours, 3), ratio(ours, r.Number(0, "latency_us"))})
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

// runTorus6 measures the all-reduce of the bench center_root_buffers on the torus of the
// reference.
func runTorus6(l *measurer, r *Reference) *table.Table {
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
	triedBytes = 1 << 20  // size at which all algorithms are tried
	largeBytes = 16 << 20 // size at which the fastest algorithm is measured
)

// boundsRow is a row of the comparison with published bounds. Its times are in units of
// M/b: the message size divided by the bandwidth of a link.
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

// runBounds computes our lower bound and measures the fastest algorithm on each fabric of
// the reference. All algorithms are tried at 1 MiB, and the fastest is measured at 16 MiB.
func runBounds(l *measurer, r *Reference) *table.Table {
	var rows []boundsRow
	for i := range r.Table.Rows {
		fabric, optimum := r.Text(i, "topology"), r.Number(i, "optimum")
		g := l.system("alpha_beta", fabricSets(fabric, r.Text(i, "nodes"))...)
		o := collperf.Options{Topology: g, Collective: ccl.AllReduce, Algorithm: collperf.AllAlgorithms}
		o.Algorithm = l.measure(fabric, o, triedBytes).Algorithm
		row := l.measure(fabric, o, largeBytes)
		unit := largeBytes / float64(g.Spec().System.SIPs.Link.Bandwidth) * 1e6 // M/b in µs
		rows = append(rows, boundsRow{
			fabric, r.digits(i, "nodes"), r.digits(i, "optimum"), r.digits(i, "equal_shard"),
			formatFixed(row.BoundUS/unit, 3), ratio(row.BoundUS/unit, optimum),
			row.Algorithm, formatFixed(*row.TimeUS/unit, 3), ratio(*row.TimeUS/unit, optimum),
		})
	}
	return torch.Must(table.From(rows))
}

// fabricSets returns the settings that give a preset the fabric and the number of nodes of
// a reference. `fabric` is a text such as "torus_2d 2x3".
func fabricSets(fabric, nodes string) []string {
	kind, grid, _ := strings.Cut(fabric, " ")
	sets := []string{"system.sips.topology=" + kind, "system.sips.count=" + nodes}
	if w, h, ok := strings.Cut(grid, "x"); ok {
		sets = append(sets, "system.sips.w="+w, "system.sips.h="+h)
	}
	return sets
}
