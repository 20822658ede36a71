package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/printable"
)

// paramPrefix is what begins the keys of a grid that are parameters of the bench.
const paramPrefix = "params."

// sweepPlan is a sweep whose settings all mean something.
type sweepPlan struct {
	*experiment.Sweep
	bench     bench.Bench
	base      configFlags // with what the command line says
	points    []experiment.Point
	places    map[[2]string]place // of values of the grid, by key and value
	ready     map[string]loaded   // some configurations, by the key of setups
	hashes    map[string]string   // of all of them
	costs     []float64           // of the points
	elsewhere []error             // mistakes that are not in the file of the sweep
	use       files               // that the sweep reads
}

// place is where a setting is written, as paths of the file; "" on the command line.
type place struct{ key, value string }

// planSweep reads a file and checks all its points. Flags go before what the file says, and
// the grid before both. A large grid takes a while, which ctx can end.
func planSweep(ctx context.Context, name string, flags configFlags) (*sweepPlan, error) {
	f, err := experiment.ReadSweep(ctx, name)
	if err != nil {
		return nil, err
	}
	p := &sweepPlan{Sweep: f, base: flags, points: f.Points(), places: map[[2]string]place{}, ready: map[string]loaded{}, hashes: map[string]string{}}
	for _, c := range slices.Concat(f.Axes...) {
		for i, v := range c.Values {
			p.places[[2]string{c.Name, v}] = place{c.NameAt, c.At[i]}
		}
	}
	p.use.reads("sweep", name)
	p.checkBench()
	p.checkEffect()
	p.checkClashes()
	if err := p.checkPoints(ctx); err != nil {
		return nil, err
	}
	return p, errors.Join(append(p.elsewhere, p.Errors.Err())...)
}

// checkBench checks the bench and the values of its parameters.
func (p *sweepPlan) checkBench() {
	var err error
	if p.bench, err = findBench(p.Bench); err != nil {
		p.Fail("bench", "%v", err)
		return
	}
	if p.bench.Folder != "" {
		p.Fail("bench", "%s writes files and has a sweep of its own: run it with kernbench run %s", p.Bench, p.Bench)
	}
	for name, value := range p.Params {
		path := paramPrefix + name
		p.checkParam(name, string(value), place{path, path})
	}
	for _, c := range slices.Concat(p.Axes...) {
		if name, ok := strings.CutPrefix(c.Name, paramPrefix); ok {
			for i, v := range c.Values {
				if !p.checkParam(name, v, place{c.NameAt, c.At[i]}) {
					break
				}
			}
		}
	}
}

// checkParam checks a value of a parameter, and reports whether there is such a parameter.
func (p *sweepPlan) checkParam(name, value string, at place) bool {
	i := slices.IndexFunc(p.bench.Params, func(q bench.Param) bool { return q.Name == name })
	if i < 0 {
		names := wordsOf(p.bench.Params, func(q bench.Param) string { return q.Name })
		p.Fail(at.key, "%s is no parameter of %s, which has %s%s", name, p.Bench, cmp.Or(strings.Join(names, ", "), "none"), config.DidYouMean(name, names))
		return false
	}
	if p.bench.Params[i].Output {
		p.Fail(at.key, "%s is a file that each point would write: delete it, and draw single points with kernbench run %s", name, p.Bench)
	}
	if allowed := p.bench.Params[i].Values; len(allowed) > 0 && !slices.Contains(allowed, value) {
		p.Fail(at.value, "%q: write one of %s%s", value, strings.Join(allowed, ", "), config.DidYouMean(value, allowed))
	}
	return true
}

// checkEffect refuses settings that the bench ignores: of flags, and of the file.
func (p *sweepPlan) checkEffect() {
	if err := p.base.checkEffect(p.bench); err != nil {
		p.elsewhere = append(p.elsewhere, err)
	}
	for _, s := range benchSettings {
		refuse := func(path, text string, given bool) {
			if err := s.noEffect(p.bench, text); err != nil && given {
				p.Fail(path, "%v", err)
			}
		}
		file := map[*configKind]string{cclKind: p.CCL, tasksKind: p.Tasks}[s.configKind]
		refuse(s.name, file, file != "")
		for i, set := range p.Set {
			refuse(fmt.Sprintf("set[%d]", i), set, strings.HasPrefix(set, s.prefix))
		}
		for _, c := range slices.Concat(p.Axes...) {
			refuse(c.NameAt, c.Name, strings.HasPrefix(c.Name, s.prefix))
		}
	}
}

// checkClashes refuses to say twice what something is.
func (p *sweepPlan) checkClashes() {
	fixed := map[string]string{}
	if p.Topology != "" {
		fixed["topology"] = "topology"
	}
	if p.base.topology != "" {
		fixed["topology"] = "--topology"
	}
	for name := range p.Params {
		fixed[paramPrefix+name] = "params"
	}
	for i, set := range slices.Concat(p.Set, p.base.sets) {
		key, _, _ := strings.Cut(set, "=")
		if fixed[key] = "set"; i >= len(p.Set) {
			fixed[key] = "--set"
		}
	}
	for _, c := range slices.Concat(p.Axes...) {
		if by := fixed[c.Name]; by != "" {
			p.Fail(c.NameAt, "%s is fixed by %s: delete one of them", c.Name, by)
		}
	}
}

// checkPoints loads the configuration of every point, each kind once, and finds the costs of
// its points.
func (p *sweepPlan) checkPoints(ctx context.Context) error {
	var kinds []setup
	alike := map[string][]int{} // points by the key of their setup
	for i, point := range p.points {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s := p.setup(point)
		if alike[s.key()] == nil {
			kinds = append(kinds, s)
		}
		alike[s.key()] = append(alike[s.key()], i)
	}
	p.costs = make([]float64, len(p.points))
	for _, s := range kinds {
		if len(p.Errors)+len(p.elsewhere) >= config.MaxErrors {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l, err := s.loaded(ctx)
		if err != nil {
			p.mistakes(ctx, s)
			continue
		}
		p.use.readsConfigs(l.configs)
		if len(p.ready) < maxReady {
			p.ready[s.key()] = l
		}
		p.hashes[s.key()] = l.hashes
		for _, i := range alike[s.key()] {
			p.costs[i] = p.bench.CostOf(p.with(l, p.setup(p.points[i])))
		}
	}
	return nil
}

// identity returns a text of all that rows depend on beside their point and the program:
// how benches are run, and the configurations and parameters of all points.
func (p *sweepPlan) identity() string {
	sum := sha256.New()
	for _, point := range p.points {
		s := p.setup(point)
		fmt.Fprintf(sum, "%v %s", point, p.hashes[s.key()])
		for _, name := range slices.Sorted(maps.Keys(s.params)) {
			fmt.Fprintf(sum, " %q=%q", name, s.params[name])
		}
		fmt.Fprintln(sum)
	}
	return fmt.Sprintf("bench %s, data %s, check %s, fidelity %s, configuration %s", p.Bench,
		cmp.Or(p.Data, "on"), cmp.Or(p.Check, "none"), cmp.Or(p.Fidelity, "train"), hex.EncodeToString(sum.Sum(nil)[:6]))
}

func sweepCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Run a bench at all points of a grid of settings",
		Long: `Sweep runs a bench at every point of a grid that a YAML file describes: systems,
settings as of --set, parameters of the bench. It checks all points before it runs
the first. Points run at the same time, on one thread each; the results do not depend
on how many do. A line on standard error shows how many have ended and about how long
the others will take.

A point that has ended is written to --out at once. --resume continues an interrupted
or killed sweep without repeating finished points; --replace begins anew. --shard I/N
runs every N-th point, for several machines; kernbench merge joins their files.

The file goes before ./topology.yaml, ./ccl.yaml and ./tasks.yaml, and flags go before
the file. Files that it names are relative to it. docs/sweeps.md has all its keys.

The exit status is 1 if values are wrong and 3 if points failed; other points are kept.

--format json has one object: sweep, bench, file, ok, total (points of the shard),
points of point, settings and row, and schema (the columns of settings, row, metrics
and rows). With --dry-run it is a list of point and settings.`,
		Example: `  kernbench sweep sweep.yaml
  kernbench sweep sweep.yaml --dry-run
  kernbench sweep sweep.yaml --out bandwidth.jsonl --resume
  kernbench sweep sweep.yaml --shard 2/4 --set sip.ucie.bandwidth=256GB/s`,
		Args: oneArg("FILE", "no FILE: name one"),
	}
	flags := addConfigFlags(cmd, programKinds...)
	format := formatFlag(cmd, "csv")
	points := addPointFlags(cmd, "the name of the sweep with .jsonl, in the current folder")
	dry := cmd.Flags().Bool("dry-run", false, "check all points and print those that would run")
	var workers int
	intFlag(cmd, &workers, "workers", 0, "points to run side by side, 0 for one on each core; results do not depend on it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := points.options()
		if err == nil {
			err = refuse(cmd,
				misuse{"dry-run", *dry && (o.Resume || o.Replace || *points.report != ""), "looks at no results: leave out --resume, --replace and --report"},
				misuse{"workers", workers < 0 || workers > mostThreads, fmt.Sprintf("%d: write 0 to %d", workers, mostThreads)})
		}
		if err != nil {
			return badInput(err)
		}
		plan, err := planSweep(cmd.Context(), args[0], *flags)
		if err != nil {
			return badInput(err)
		}
		if !*dry {
			o.File = cmp.Or(o.File, defaultOut(args[0], o.Shard))
			plan.use.writes("--out", o.File)
			plan.use.writes("--report", *points.report)
		}
		if err := plan.use.check(); err != nil {
			return err
		}
		if *dry {
			return plan.writePoints(cmd.OutOrStdout(), o.Shard, *format)
		}
		o.Identity, o.Schema, o.Workers, o.About = plan.identity(), plan.schema(), workers, plan.about()
		o.Cost = func(i int) float64 { return plan.costs[i] }
		shown, err := runPoints(cmd, "sweep", &o)
		if err != nil {
			return err
		}
		rows, err := experiment.Run(cmd.Context(), o, plan.points, plan.run, nil)
		shown.Stop()
		return finishSweep(cmd, plan, o, *points.report, *format, rows, err)
	}
	return cmd
}

// defaultOut returns the file that results go to, one for each shard. It is named after the
// file of the sweep.
func defaultOut(file string, shard experiment.Shard) string {
	name := printable.Line(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	if shard.N > 0 {
		name += fmt.Sprintf(".%d-of-%d", shard.I, shard.N)
	}
	return name + ".jsonl"
}
