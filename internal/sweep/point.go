package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
)

// choice is what a point runs on.
type choice struct {
	setup.Choice
	at     []place // of each of Sets
	system place   // of the topology
	params map[string]string
}

// choice returns what a point runs on.
func (p *Plan) choice(point experiment.Point) choice {
	s := choice{Choice: p.base, params: map[string]string{}}
	s.Sets = slices.Concat(p.Set, p.base.Sets)
	s.at = make([]place, len(s.Sets))
	for i := range p.Set {
		at := fmt.Sprintf("set[%d]", i)
		s.at[i] = place{at, at}
	}
	if s.Topology == "" && p.Topology != "" {
		s.Topology, s.system = p.beside(p.Topology), place{"topology", "topology"}
	}
	s.CCL, s.Tasks = cmp.Or(s.CCL, p.beside(p.CCL)), cmp.Or(s.Tasks, p.beside(p.Tasks))
	for name, value := range p.Params {
		s.params[name] = string(value)
	}
	for _, setting := range point {
		at := p.places[[2]string{setting.Name, setting.Value}]
		param, isParam := strings.CutPrefix(setting.Name, paramPrefix)
		switch {
		case isParam:
			s.params[param] = setting.Value
		case setting.Name == "topology":
			s.Topology, s.system = p.beside(setting.Value), at
		default:
			s.Sets, s.at = append(s.Sets, setting.Name+"="+setting.Value), append(s.at, at)
		}
	}
	return s
}

// beside returns the path of a file that the sweep names relative to itself. Presets and absolute
// names stay.
func (p *Plan) beside(name string) string {
	isFile := strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if !isFile || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.name), name)
}

// maxReady is how many configurations are kept for when their points run. Others are read
// again: large systems take memory, and a grid may have any number of them.
const maxReady = 16

// key returns the same text for choices of the same configurations.
func (s choice) key() string { return fmt.Sprintf("%q %q", s.Topology, s.Sets) }

// hashes returns those of the three configurations.
func hashes(l *setup.Loaded) string {
	tasks := "refused"
	if c, ok := l.Tasks.(*task.Config); ok {
		tasks = c.Hash()
	}
	return strings.Join([]string{l.System.Spec().Hash(), l.CCL.Hash(), tasks}, " ")
}

// mistakes adds what is wrong with a choice that cannot be loaded.
func (p *Plan) mistakes(ctx context.Context, s choice) {
	at := map[*setup.Kind]string{setup.Topology: s.system.value, setup.CCL: written("ccl", p.CCL, p.base.CCL), setup.Tasks: written("tasks", p.Tasks, p.base.Tasks)}
	for _, k := range s.Kinds {
		if k != setup.Tasks || len(s.Given(k)) > 0 {
			p.place(s, s.LoadKind(ctx, k, new(setup.Loaded)), at[k])
		}
	}
}

// written returns the path of a key if it is there and no flag goes before it.
func written(key, value, flag string) string {
	if value == "" || flag != "" {
		return ""
	}
	return key
}

// place puts the mistakes of one configuration, which the value at a path names, where they
// can be mended: in the file, if it is to blame.
func (p *Plan) place(s choice, err error, path string) {
	for _, e := range config.Flatten(err) {
		var at *config.Error
		path, text := path, e.Error()
		switch {
		case !errors.As(e, &at): // of the name itself
		case at.File == "--set":
			path, text = s.setAt(at), at.Path+": "+at.Msg
		default:
			path = "" // has its place in another file
		}
		if path != "" {
			p.fail(path, "%s", text)
		} else {
			p.elsewhere = append(p.elsewhere, e)
		}
	}
}

// setAt returns where the setting is written that has a mistake: the last that can have made it.
func (s choice) setAt(e *config.Error) string {
	for i := len(s.Sets) - 1; i >= 0; i-- {
		key, _, _ := strings.Cut(s.Sets[i], "=")
		for _, k := range []string{key, strings.TrimPrefix(key, setup.CCL.Prefix), strings.TrimPrefix(key, setup.Tasks.Prefix)} {
			switch {
			case k != e.Path && !strings.HasPrefix(k, e.Path+".") && !strings.HasPrefix(e.Path, k+".") && !strings.HasPrefix(e.Path, k+"["):
			case e.Kept: // an unknown key
				return s.at[i].key
			default:
				return s.at[i].value
			}
		}
	}
	return ""
}

// options returns how a point runs: on one thread, at the same time as others.
func (p *Plan) options(ctx context.Context, s choice) (o bench.Options, err error) {
	l, ok := p.ready[s.key()]
	if !ok {
		if l, err = s.Load(ctx); err != nil {
			return o, err
		}
		if hashes(l) != p.hashes[s.key()] {
			return o, errors.New("its configuration was changed while the sweep ran: begin the sweep anew")
		}
	}
	return p.with(l, s), nil
}

// with returns how a point runs with its configurations.
func (p *Plan) with(l *setup.Loaded, s choice) bench.Options {
	return bench.Options{Params: s.params, Options: torch.Options{
		Topology: l.System, CCL: l.CCL, Settings: []any{l.Tasks}, Threads: 1,
		NoData: p.Data == "off", Race: p.Check == "race", Flit: p.Fidelity == "flit",
	}}
}
