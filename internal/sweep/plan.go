package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/setup"
)

// paramPrefix is the prefix of the keys of a grid that are parameters of the bench.
const paramPrefix = "params."

// Plan is a sweep whose settings are checked.
type Plan struct {
	Uses file.Uses // files that the sweep reads

	*source
	bench       bench.Bench
	base        setup.Choice      // choice of the command line
	written     map[string]string // former names of parameters in the file, by current name
	points      []experiment.Point
	places      map[[2]string]place      // places of the grid's values, by key and value
	loaded      map[string]*setup.Loaded // up to maxLoaded configurations, by the key of their choice
	hashes      map[string]string        // hashes of all configurations, by the key of their choice
	costs       []float64                // costs of the points
	otherErrors []error                  // mistakes outside the file of the sweep
}

// place is where a setting is written: the paths of its key and its value in the file. Both
// are "" for the command line.
type place struct{ key, value string }

// New reads the file of a sweep and checks all its points. The grid takes precedence over
// the choice of the command line, which takes precedence over the other keys of the file.
// The check of a large grid takes some time and stops when ctx ends.
func New(ctx context.Context, name string, base setup.Choice) (*Plan, error) {
	f, err := readSource(ctx, name)
	if err != nil {
		return nil, err
	}
	p := &Plan{source: f, base: base, written: map[string]string{}, places: map[[2]string]place{}, loaded: map[string]*setup.Loaded{}, hashes: map[string]string{}}
	p.findBench(ctx)
	p.points = experiment.Product(f.axes)
	for _, c := range slices.Concat(f.axes...) {
		for i, v := range c.Values {
			p.places[[2]string{c.Name, v}] = place{c.NameAt, c.At[i]}
		}
	}
	p.Uses.Reads("sweep", name)
	if p.bench.Name != "" {
		p.checkBench()
	}
	p.checkEffect()
	p.checkClashes()
	if err := p.checkPoints(ctx); err != nil {
		return nil, err
	}
	return p, errors.Join(append(p.otherErrors, p.errors.Err())...)
}

// findBench looks up the bench of the sweep. It replaces former names of the bench and its
// parameters by the current names, and reports the former names through ctx.
func (p *Plan) findBench(ctx context.Context) {
	var err error
	if p.bench, err = setup.FindBench(ctx, p.Bench); err != nil {
		p.fail("bench", "%v", err)
		return
	}
	p.Bench = p.bench.Name
	rename := func(name, at string, taken func(string) bool) string {
		param, ok := p.bench.FindParam(name)
		if !ok || param.Name == name {
			return name
		}
		if taken(param.Name) {
			p.fail(at, "%s is now called %s, which is given too: delete one of them", name, param.Name)
			return name
		}
		config.Renamed(ctx, paramPrefix+name, paramPrefix+param.Name)
		return param.Name
	}
	for _, name := range slices.Sorted(maps.Keys(p.Params)) {
		now := rename(name, paramPrefix+name, func(now string) bool { _, ok := p.Params[now]; return ok })
		if now != name {
			p.Params[now], p.written[now] = p.Params[name], name
			delete(p.Params, name)
		}
	}
	keys := lists.Map(slices.Concat(p.axes...), func(d experiment.Dimension) string { return d.Name })
	for _, columns := range p.axes {
		for i, c := range columns {
			if name, ok := strings.CutPrefix(c.Name, paramPrefix); ok {
				columns[i].Name = paramPrefix + rename(name, c.NameAt, func(now string) bool { return slices.Contains(keys, paramPrefix+now) })
				keys = append(keys, columns[i].Name)
			}
		}
	}
}

// checkBench records the mistakes in the names and values of the bench's parameters. It
// also records a mistake if the bench writes files, because a sweep does not support such a
// bench.
func (p *Plan) checkBench() {
	if p.bench.Folder != "" {
		p.fail("bench", "%s writes files and has a sweep of its own: run it with kernbench run %s", p.Bench, p.Bench)
	}
	for name, value := range p.Params {
		path := paramPrefix + cmp.Or(p.written[name], name)
		p.checkParam(name, string(value), place{path, path})
	}
	for _, c := range slices.Concat(p.axes...) {
		if name, ok := strings.CutPrefix(c.Name, paramPrefix); ok {
			for i, v := range c.Values {
				if !p.checkParam(name, v, place{c.NameAt, c.At[i]}) {
					break
				}
			}
		}
	}
}

// checkParam records a mistake if the bench has no parameter with the given name, if the
// parameter names a file to write, or if its value is not allowed. `at` is the place of the
// parameter. checkParam reports whether the bench has the parameter.
func (p *Plan) checkParam(name, value string, at place) bool {
	i := slices.IndexFunc(p.bench.Params, func(q bench.Param) bool { return q.Name == name })
	if i < 0 {
		names := lists.Map(p.bench.Params, func(q bench.Param) string { return q.Name })
		p.fail(at.key, "%s is no parameter of %s, which has %s%s", name, p.Bench, cmp.Or(strings.Join(names, ", "), "none"), config.DidYouMean(name, names))
		return false
	}
	if p.bench.Params[i].Output {
		p.fail(at.key, "%s is a file that each point would write: delete it, and draw single points with kernbench run %s", name, p.Bench)
	}
	if allowed := p.bench.Params[i].Values; len(allowed) > 0 && !slices.Contains(allowed, value) {
		p.fail(at.value, "%q: write one of %s%s", value, strings.Join(allowed, ", "), config.DidYouMean(value, allowed))
	}
	return true
}

// checkEffect records a mistake for each setting that the bench ignores. The setting may be
// in a flag or in the file.
func (p *Plan) checkEffect() {
	if err := p.base.CheckEffect(p.bench); err != nil {
		p.otherErrors = append(p.otherErrors, err)
	}
	for _, k := range p.base.Kinds {
		refuse := func(path, text string, given bool) {
			if err := k.NoEffect(p.bench, text); err != nil && given {
				p.fail(path, "%v", err)
			}
		}
		name := map[*setup.Kind]string{setup.CCL: p.CCL, setup.Tasks: p.Tasks}[k]
		refuse(k.Name, name, name != "")
		for i, set := range p.Set {
			refuse(fmt.Sprintf("set[%d]", i), set, strings.HasPrefix(set, k.Prefix))
		}
		for _, c := range slices.Concat(p.axes...) {
			refuse(c.NameAt, c.Name, strings.HasPrefix(c.Name, k.Prefix))
		}
	}
}

// checkClashes records a mistake for each setting of the grid that is also given elsewhere
// in the file or by a flag.
func (p *Plan) checkClashes() {
	fixed := map[string]string{}
	if p.Topology != "" {
		fixed["topology"] = "topology"
	}
	if p.base.Topology != "" {
		fixed["topology"] = "--topology"
	}
	for name := range p.Params {
		fixed[paramPrefix+name] = "params"
	}
	for i, set := range slices.Concat(p.Set, p.base.Sets) {
		key, _, _ := strings.Cut(set, "=")
		if fixed[key] = "set"; i >= len(p.Set) {
			fixed[key] = "--set"
		}
	}
	for _, c := range slices.Concat(p.axes...) {
		if by := fixed[c.Name]; by != "" {
			p.fail(c.NameAt, "%s is fixed by %s: delete one of them", c.Name, by)
		}
	}
}

// checkPoints loads the configurations of all points, each once, and records their
// mistakes. It also computes the costs of the points. It returns an error only if ctx ends.
func (p *Plan) checkPoints(ctx context.Context) error {
	var choices []choice
	byKey := map[string][]int{} // indices of points, by the key of their choice
	for i, point := range p.points {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s := p.choiceFor(point)
		if byKey[s.key()] == nil {
			choices = append(choices, s)
		}
		byKey[s.key()] = append(byKey[s.key()], i)
	}
	p.costs = make([]float64, len(p.points))
	for _, s := range choices {
		if len(p.errors)+len(p.otherErrors) >= config.MaxErrors {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l, err := s.Load(ctx)
		if err != nil {
			p.addErrors(ctx, s)
			continue
		}
		l.AddTo(&p.Uses)
		if len(p.loaded) < maxLoaded {
			p.loaded[s.key()] = l
		}
		p.hashes[s.key()] = configHashes(l)
		for _, i := range byKey[s.key()] {
			p.costs[i] = p.bench.CostOf(p.benchOptions(l, p.choiceFor(p.points[i])))
		}
	}
	return nil
}

// identity returns a text that contains everything on which rows depend, except the
// settings of their point and the version of the program. The text has the name and the
// options of the bench, and the hash of the configurations and parameters of all points.
func (p *Plan) identity() string {
	var text []byte
	for _, point := range p.points {
		s := p.choiceFor(point)
		text = fmt.Appendf(text, "%v %s", point, p.hashes[s.key()])
		for _, name := range slices.Sorted(maps.Keys(s.params)) {
			text = fmt.Appendf(text, " %q=%q", name, s.params[name])
		}
		text = append(text, '\n')
	}
	return fmt.Sprintf("bench %s, data %s, check %s, fidelity %s, configuration %s", p.Bench,
		cmp.Or(p.Data, "on"), cmp.Or(p.Check, "none"), cmp.Or(p.Fidelity, "train"), config.Digest(text))
}

// DefaultOut returns the default file for the results of a sweep or of a shard. Its name
// derives from the file of the sweep.
func DefaultOut(name string, shard experiment.Shard) string {
	base := printable.Line(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	if shard.N > 0 {
		base += fmt.Sprintf(".%d-of-%d", shard.I, shard.N)
	}
	return base + ".jsonl"
}
