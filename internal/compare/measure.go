package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
)

// Measured is a reference with our own numbers.
type Measured struct {
	*Reference
	Systems    []string     `json:"systems"`    // that ours were measured on: "preset ring6 (hash 88275a90ffa3)"
	Difference string       `json:"difference"` // in a line
	Schema     table.Schema `json:"schema"`
	Rows       *table.Table `json:"rows"` // theirs and ours
}

// nearest is how ours are measured for each reference, and what is different about them.
var nearest = map[string]struct {
	run        func(*lab, *Reference) (*table.Table, error)
	difference string
}{
	"allreduce_lower_bounds": {runBounds, "theirs is the optimum of any algorithm; bound is ours, which is never weaker on these six but for their rounding, and takes is the fastest algorithm here at 16 MiB"},
	"fsim":                   {runFSIM, "nothing is known to compare with: theirs is an unknown workload on one device, ours an all-reduce over 6 SIPs, and the ratio says nothing about either"},
	"tenstorrent_blackhole":  {runBlackhole, "theirs has barriers and the set-up of a call in it, and a reduce-scatter that does not keep links busy; call_us, what like lacks at the smallest size of each series, is all that is fitted"},
	"torus6_buffer_kind":     {runTorus6, "theirs is of another machine, and its times grow as if tensors moved whole from hop to hop; ours move in chunks that overlap"},
}

// Measure measures what comes nearest to a reference on our machines.
func Measure(ctx context.Context, name string) (*Measured, error) {
	r, err := GetReference(name)
	if err != nil {
		return nil, err
	}
	l := &lab{ctx: ctx}
	t, err := nearest[name].run(l, r)
	if err != nil {
		return nil, fmt.Errorf("ours beside %s: %w", name, err)
	}
	return &Measured{r, l.systems, nearest[name].difference, table.Schema{"rows": t.Columns}, t}, nil
}

// lab measures on systems, and remembers which.
type lab struct {
	ctx     context.Context
	systems []string
}

// system compiles a preset with some values changed, whatever files there are.
func (l *lab) system(preset string, sets ...string) (*topology.Graph, error) {
	src, err := topology.PresetSource(preset)
	if err != nil {
		return nil, err
	}
	spec, err := topology.Parse("preset "+preset, src, sets...)
	if err != nil {
		return nil, err
	}
	if name := config.UsedBy(spec).String(); !slices.Contains(l.systems, name) {
		l.systems = append(l.systems, name)
	}
	return topology.Compile(spec)
}

// measure returns the rows of a collective at one size: of one algorithm, or of all. Ranks
// are SIPs; values are not computed.
func (l *lab) measure(o collperf.Options, size topology.Bytes) ([]collperf.Row, error) {
	o.Min, o.Max, o.RanksPer, o.NoCheck = size, size, collperf.PerSIP, true
	rows, _, err := collperf.Run(l.ctx, o, nil)
	return rows, err
}

// one returns the row of one algorithm.
func (l *lab) one(o collperf.Options, size topology.Bytes) (collperf.Row, error) {
	rows, err := l.measure(o, size)
	if err != nil {
		return collperf.Row{}, err
	}
	return rows[0], nil
}

// best returns the row of the fastest algorithm at a size, the first of several.
func (l *lab) best(o collperf.Options, size topology.Bytes) (collperf.Row, error) {
	o.Algorithm = collperf.AllAlgorithms
	rows, err := l.measure(o, size)
	if err != nil {
		return collperf.Row{}, err
	}
	i := slices.IndexFunc(rows, func(r collperf.Row) bool { return r.Best != nil && *r.Best })
	if i < 0 {
		return collperf.Row{}, fmt.Errorf("no algorithm for %v of %d bytes: %s", o.Collective, size, *rows[0].Error)
	}
	return rows[i], nil
}

// fixed returns a number with some places behind the point.
func fixed(x float64, places int) json.Number {
	return json.Number(strconv.FormatFloat(x, 'f', places, 64))
}

// ratio returns how many times theirs ours is.
func ratio(ours, theirs float64) json.Number { return fixed(ours/theirs, 3) }
