package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
)

// setup is what a point runs on.
type setup struct {
	configFlags
	at     []place // of each of sets
	system place   // of the topology
	params map[string]string
}

// setup is that of a point.
func (p *sweepPlan) setup(point experiment.Point) setup {
	s := setup{configFlags: p.base, params: map[string]string{}}
	s.sets = nil
	for i, set := range p.Set {
		at := fmt.Sprintf("set[%d]", i)
		s.sets, s.at = append(s.sets, set), append(s.at, place{at, at})
	}
	for _, set := range p.base.sets {
		s.sets, s.at = append(s.sets, set), append(s.at, place{})
	}
	if s.topology == "" && p.Topology != "" {
		s.topology, s.system = p.beside(p.Topology), place{"topology", "topology"}
	}
	s.ccl, s.tasks = cmp.Or(s.ccl, p.beside(p.CCL)), cmp.Or(s.tasks, p.beside(p.Tasks))
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
			s.topology, s.system = p.beside(setting.Value), at
		default:
			s.sets, s.at = append(s.sets, setting.Name+"="+setting.Value), append(s.at, at)
		}
	}
	return s
}

// beside is a file that the sweep names, which is relative to it; presets and absolute
// names stay.
func (p *sweepPlan) beside(name string) string {
	isFile := strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if !isFile || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.Name), name)
}

// loaded is the configurations of a setup, which points may share.
type loaded struct {
	configs
	hashes string // of the three
}

// maxReady is how many configurations are kept for when their points run. Others are read
// again: large systems take memory, and a grid may have any number of them.
const maxReady = 16

// key is the same for setups with the same configurations.
func (s setup) key() string { return fmt.Sprintf("%q %q", s.topology, s.sets) }

func (s setup) loaded(ctx context.Context) (l loaded, err error) {
	if l.configs, err = s.load(ctx); err != nil {
		return l, err
	}
	tasks := "refused"
	if c, ok := l.tasks.(*task.Config); ok {
		tasks = c.Hash()
	}
	l.hashes = strings.Join([]string{l.system.Spec().Hash(), l.ccl.Hash(), tasks}, " ")
	return l, nil
}

// mistakes tells what is wrong with a setup that cannot be loaded.
func (p *sweepPlan) mistakes(ctx context.Context, s setup) {
	at := map[*configKind]string{topologyKind: s.system.value, cclKind: written("ccl", p.CCL, p.base.ccl), tasksKind: written("tasks", p.Tasks, p.base.tasks)}
	for _, k := range s.kinds {
		if k != tasksKind || len(s.given(k)) > 0 {
			p.place(s, s.loadKind(ctx, k, new(configs)), at[k])
		}
	}
}

// written is the path of a key, if it is there and no flag goes before it.
func written(key, value, flag string) string {
	if value == "" || flag != "" {
		return ""
	}
	return key
}

// place puts the mistakes of one configuration, which the value at a path names, where they
// can be mended: in the file, if it is to blame.
func (p *sweepPlan) place(s setup, err error, path string) {
	for _, e := range flatten(err) {
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
			p.Fail(path, "%s", text)
		} else {
			p.elsewhere = append(p.elsewhere, e)
		}
	}
}

// setAt is where a setting is written that has a mistake: the last that can have made it.
func (s setup) setAt(e *config.Error) string {
	for i := len(s.sets) - 1; i >= 0; i-- {
		key, _, _ := strings.Cut(s.sets[i], "=")
		for _, k := range []string{key, strings.TrimPrefix(key, cclPrefix), strings.TrimPrefix(key, tasksPrefix)} {
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
func (p *sweepPlan) options(ctx context.Context, s setup) (o bench.Options, err error) {
	l, ok := p.ready[s.key()]
	if !ok {
		if l, err = s.loaded(ctx); err != nil {
			return o, err
		}
		if l.hashes != p.hashes[s.key()] {
			return o, errors.New("its configuration was changed while the sweep ran: begin the sweep anew")
		}
	}
	return p.with(l, s), nil
}

// with returns how a point runs with its configurations.
func (p *sweepPlan) with(l loaded, s setup) bench.Options {
	return bench.Options{Params: s.params, Options: torch.Options{
		Topology: l.system, CCL: l.ccl, Settings: []any{l.tasks}, Threads: 1,
		NoData: p.Data == "off", Race: p.Check == "race", Flit: p.Fidelity == "flit",
	}}
}
