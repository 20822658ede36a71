package collperf

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Printer writes a measurement to W as text, JSON or CSV: the head, each row when it is
// ready, and the foot.
type Printer struct {
	Options
	W        io.Writer
	Format   string
	ranks    int
	lastCase *Case // settings of the row that was written last
	rows     []Row // set after all rows have been measured
	sum      Summary
}

// Run runs the measurement, and writes the head and the rows. It returns the totals of all
// rows. [Printer.Foot] writes the rest of the output.
func (p *Printer) Run(ctx context.Context) (sum Summary, err error) {
	if p.ranks, err = p.Ranks(); err != nil {
		return sum, err
	}
	if p.Experiment.Begin = p.writeHead; p.Real() { // there is no file that could be refused, so the head is written first
		if err := p.writeHead(); err != nil {
			return sum, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.rows, p.sum, err = Run(ctx, p.Options, func(r Row) {
		if err := p.writeRow(r); err != nil {
			cancel(err) // further rows could not be written
		}
	})
	return p.sum, err
}

// ranksText returns text that says whether simulated ranks are PEs or SIPs. For partial
// tensors, the text also says how many addends there are.
func (o *Options) ranksText(ranks int) string {
	switch {
	case o.Partial:
		cubes := o.Topology.Spec().CubesPerSIP()
		return fmt.Sprintf("SIPs, with addends on the first PEs of %s each: %s", printable.Count(cubes, "cube"), printable.Count(ranks*cubes, "addend"))
	case o.RanksPer == PerSIP:
		return "SIPs, the first PE of each"
	}
	return "PEs"
}

// Columns of the text table.
const (
	textHeader = "#%11s %12s %6s %6s %6s %11s %12s %12s %7s %18s %7s %8s\n"
	textRow    = " %11d %12d %6s %6s %6d %11s %12s %12s %7s %18s %7s %8s%s\n"

	// The table of ranks.
	ranksHeader = "#\n#%11s %6s %6s %6s %18s %6s %18s\n"
	ranksRow    = " %11d %6s %6s %6d %18s %6d %18s\n"
)

// formatNumber formats a number with the given number of decimal places. It returns "-" if
// the number is nil.
func formatNumber(x *float64, places int) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'f', places, 64)
}

// writeHead writes the lines before the rows. In the format json there are none.
func (p *Printer) writeHead() error {
	switch p.Format {
	case "json":
		return nil
	case "csv":
		return p.writeCSV(nil, (*table.Table).WriteCSV)
	}
	fmt.Fprintf(p.W, "# kernbench %s %v\n", version.Version, p.Collective)
	if p.Real() {
		fmt.Fprintf(p.W, "# nranks: %s\n# buffer: %s\n# iters: %d, after %d to warm up\n", p.realText(), p.realBuffer(), p.Iters, p.Warmups)
	} else {
		fmt.Fprintf(p.W, "# topology: %v\n# ccl: %v\n# nranks: %d (%s)\n",
			topology.OriginOf(p.Topology.Spec()), topology.OriginOf(p.CCL), p.ranks, p.ranksText(p.ranks))
	}
	if p.Buffer != "" {
		fmt.Fprintf(p.W, "# buffer: %s\n", p.Buffer)
	}
	_, err := fmt.Fprintf(p.W, "#\n"+textHeader, "size(B)", "count", "type", "redop", "root", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong", "algorithm", "%bound", "bound")
	return err
}

// writeRow writes a row. In the format json it writes nothing, because Foot writes all
// rows.
func (p *Printer) writeRow(r Row) error {
	switch p.Format {
	case "json":
		return nil
	case "csv":
		return p.writeCSV([]Row{r}, (*table.Table).WriteCSVRows)
	}
	wrong, kind, end := "N/A", r.BoundKind, ""
	if p.Real() {
		kind = "-" // real ranks have no bound
	}
	if r.Wrong != nil {
		wrong = strconv.Itoa(*r.Wrong)
	}
	switch {
	case r.Error != nil:
		end, _, _ = strings.Cut("  "+*r.Error, "\n")
	case r.Best != nil && *r.Best:
		end = " *"
	}
	if p.Algorithm == AllAlgorithms && p.lastCase != nil && *p.lastCase != r.Case {
		fmt.Fprintln(p.W, "#")
	}
	p.lastCase = &r.Case
	_, err := fmt.Fprintf(p.W, textRow, r.Size, r.Count, r.Type, r.RedOp, r.Root,
		formatNumber(r.TimeUS, 3), formatNumber(r.AlgBW, 3), formatNumber(r.BusBW, 3), wrong, r.Algorithm, formatNumber(r.BoundShare, 1), kind, end)
	return err
}

// Foot writes the lines after the rows. In the format json it writes the whole measurement,
// and in the format csv nothing.
func (p *Printer) Foot() (err error) {
	switch p.Format {
	case "json":
		return p.writeJSON()
	case "csv":
		return nil
	}
	if p.PerRank {
		writeRanks(p.W, p.rows)
	}
	line := func(name, text string) { _, err = fmt.Fprintf(p.W, "# %-21s: %s\n", name, text) }
	switch {
	case p.sum.Wrong > 0:
		line("Out of bounds values", fmt.Sprintf("%d FAILED", p.sum.Wrong))
	case valuesCompared(p.rows):
		line("Out of bounds values", "0 OK")
	default:
		line("Out of bounds values", "not checked")
	}
	if p.Algorithm != AllAlgorithms {
		line("Avg bus bandwidth", fmt.Sprintf("%.2f", p.sum.AvgBusBW))
	}
	if won := slices.DeleteFunc(slices.Clone(p.sum.Wins), func(w Win) bool { return w.Sizes == 0 }); len(won) > 0 {
		line("Sizes won (*)", strings.Join(lists.Map(won, func(w Win) string { return fmt.Sprintf("%s %d", w.Algorithm, w.Sizes) }), ", "))
	}
	if text := chunkText(p.rows); text != "" {
		line("Chunk", text)
	}
	for _, b := range bounds(p.rows) {
		line("Bound by "+b.BoundKind, b.Bound)
	}
	for _, name := range []string{p.Trace, p.Experiment.File} {
		if name != "" {
			line("Written", name)
		}
	}
	return err
}

// valuesCompared reports whether the values of any row were checked.
func valuesCompared(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Wrong != nil })
}

// chunkText returns the range of the chunks of all rows, "" if no row has one.
func chunkText(rows []Row) string {
	var chunks []int
	for _, r := range rows {
		if r.Chunk != nil {
			chunks = append(chunks, *r.Chunk)
		}
	}
	if len(chunks) == 0 {
		return ""
	}
	least, most := topology.Bytes(slices.Min(chunks)), topology.Bytes(slices.Max(chunks))
	if least == most {
		return least.String()
	}
	return fmt.Sprintf("%v to %v", least, most)
}

// writeRanks writes a table with a line for each rank of each row.
func writeRanks(w io.Writer, rows []Row) {
	fmt.Fprintf(w, ranksHeader, "size(B)", "type", "redop", "root", "algorithm", "rank", "pe_exec(ns)")
	for _, r := range rows {
		for rank, t := range r.PEExec {
			fmt.Fprintf(w, ranksRow, r.Size, r.Type, r.RedOp, r.Root, r.Algorithm, rank, strings.TrimSuffix(t.String(), "ns"))
		}
	}
	fmt.Fprintln(w, "#")
}

// bounds returns the first row for each distinct reason (Row.Bound) of a lower bound.
func bounds(rows []Row) (list []Row) {
	for _, r := range rows {
		if r.BoundUS > 0 && !slices.ContainsFunc(list, func(seen Row) bool { return seen.Bound == r.Bound }) {
			list = append(list, r)
		}
	}
	return list
}

// writeCSV writes rows as CSV with the function `write`. It writes only the header if there
// are no rows.
func (p *Printer) writeCSV(rows []Row, write func(*table.Table, io.Writer) error) error {
	t, err := p.Table(rows)
	if err != nil {
		return err
	}
	return write(t, p.W)
}

// Output is the object that `kernbench coll --format json` prints.
type Output struct {
	Collective string       `json:"collective"`
	Ranks      int          `json:"ranks"`
	RanksPer   string       `json:"ranks_per,omitempty"` // pe or sip; simulated ranks only
	Partial    bool         `json:"partial,omitempty"`   // tensors have an addend on each cube
	Rows       []Row        `json:"rows"`
	AvgBusBW   *float64     `json:"avg_busbw,omitempty"` // GB/s; not in a comparison
	Wrong      *int         `json:"wrong"`               // null if values were not checked
	Wins       []Win        `json:"wins,omitempty"`
	File       string       `json:"file,omitempty"` // file with the rows
	Config     OutputConfig `json:"config"`
	Schema     table.Schema `json:"schema"`
}

// OutputConfig is the configuration of a measurement.
type OutputConfig struct {
	Version  string          `json:"version"`            // version of kernbench
	On       string          `json:"on,omitempty"`       // shm or inproc; real ranks only
	NRanks   int             `json:"nranks,omitempty"`   // number of real ranks
	Cores    int             `json:"cores,omitempty"`    // cores of this computer; real ranks only
	Topology topology.Origin `json:"topology,omitzero"`  // simulated ranks only
	CCL      topology.Origin `json:"ccl,omitzero"`       // simulated ranks only
	Algo     string          `json:"algo,omitempty"`     // the algorithm, if it was chosen
	Buffer   string          `json:"buffer,omitempty"`   // memory of queue slots, if it was chosen; for real ranks, private or window
	Data     string          `json:"data,omitempty"`     // on or off; simulated ranks only
	Values   string          `json:"values"`             // integers or reals
	Iters    int             `json:"iters"`              // iterations that were averaged
	Warmups  *int            `json:"warmups,omitempty"`  // iterations before the measured ones; real ranks only
	Fidelity string          `json:"fidelity,omitempty"` // train or flit; simulated ranks only
}

// Page returns a page that describes the measurement, and the table of its rows.
func (p *Printer) Page() (about page.Page, t *table.Table, err error) {
	o := p.Options
	o.PerRank = false
	if t, err = o.Table(p.rows); err != nil {
		return about, nil, err
	}
	about.Title = fmt.Sprintf("%v over %d ranks", p.Collective, p.ranks)
	if p.Real() {
		about.Facts = [][2]string{{"ranks", p.realText()}, {"buffer", p.realBuffer()}}
	} else {
		about.Facts = [][2]string{{"topology", topology.OriginOf(p.Topology.Spec()).String()}, {"ccl", topology.OriginOf(p.CCL).String()}, {"ranks", p.ranksText(p.ranks)}}
		about.Config = []page.File{{Name: "topology.yaml", Text: string(p.Topology.Spec().YAML())}, {Name: "ccl.yaml", Text: string(p.CCL.YAML())}}
	}
	return about, t, nil
}

// writeJSON writes the measurement as one JSON object.
func (p *Printer) writeJSON() error {
	m := Output{
		Collective: p.Collective.String(), Ranks: p.ranks, RanksPer: string(p.RanksPer), Partial: p.Partial, Rows: append([]Row{}, p.rows...),
		Wins: p.sum.Wins, File: p.Experiment.File, Schema: table.Schema{"rows": p.Columns()},
		Config: OutputConfig{Version: version.Version, Algo: p.Algorithm, Values: string(p.Values), Iters: p.Iters},
	}
	if k := &m.Config; p.Real() {
		k.On, k.NRanks, k.Cores, k.Buffer, k.Warmups = string(p.Backend), p.NRanks, runtime.NumCPU(), p.realBuffer(), &p.Warmups
	} else {
		k.Topology, k.CCL, k.Buffer = topology.OriginOf(p.Topology.Spec()), topology.OriginOf(p.CCL), string(p.Buffer)
		k.Data, k.Fidelity = map[bool]string{false: "on", true: "off"}[p.NoCheck], map[bool]string{false: "train", true: "flit"}[p.Flit]
	}
	if p.Algorithm != AllAlgorithms {
		m.AvgBusBW = &p.sum.AvgBusBW
	}
	if valuesCompared(p.rows) {
		m.Wrong = &p.sum.Wrong
	}
	return table.WriteJSON(p.W, m)
}

// realText describes real ranks: "2 processes (shm) on 4 cores, each bound to one".
func (o *Options) realText() string {
	rank := map[Backend]string{Processes: "process", Goroutines: "goroutine"}[o.Backend]
	text := fmt.Sprintf("%s (%s) on %s", printable.Count(o.NRanks, rank), o.Backend, printable.Count(runtime.NumCPU(), "core"))
	if o.CPUs() != nil {
		text += ", each bound to one"
	}
	return text
}

// realBuffer returns the kind of buffers of real ranks: PrivateBuffer or WindowBuffer.
func (o *Options) realBuffer() string {
	return map[bool]string{false: PrivateBuffer, true: WindowBuffer}[o.Window]
}
