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

// choice is the configurations and parameters of a point.
type choice struct {
	setup.Choice
	at     []place // places of Sets, by index
	system place   // place of the topology
	params map[string]string
}

// choiceFor returns the configurations and parameters of a point.
func (p *Plan) choiceFor(point experiment.Point) choice {
	s := choice{Choice: p.base, params: map[string]string{}}
	s.Sets = slices.Concat(p.Set, p.base.Sets)
	s.at = make([]place, len(s.Sets))
	for i := range p.Set {
		at := fmt.Sprintf("set[%d]", i)
		s.at[i] = place{at, at}
	}
	if s.Topology == "" && p.Topology != "" {
		s.Topology, s.system = p.resolvePath(p.Topology), place{"topology", "topology"}
	}
	s.CCL, s.Tasks = cmp.Or(s.CCL, p.resolvePath(p.CCL)), cmp.Or(s.Tasks, p.resolvePath(p.Tasks))
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
			s.Topology, s.system = p.resolvePath(setting.Value), at
		default:
			s.Sets, s.at = append(s.Sets, setting.Name+"="+setting.Value), append(s.at, at)
		}
	}
	return s
}

// resolvePath returns the path of a file that the sweep names relative to its own file. It
// returns presets and absolute paths unchanged.
func (p *Plan) resolvePath(name string) string {
	isFile := strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	if !isFile || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.name), name)
}

// maxLoaded is the largest number of configurations that are kept in memory until their
// points run. Other configurations are read again, because large systems take memory and a
// grid may have any number of them.
const maxLoaded = 16

// key returns a text that identifies the configurations of a choice among the choices of a
// plan. The files of CCL and Tasks are the same for all choices of a plan and are left out.
func (s choice) key() string { return fmt.Sprintf("%q %q", s.Topology, s.Sets) }

// configHashes returns the hashes of the topology, the configuration of collectives and the
// configuration of tasks as one text.
func configHashes(l *setup.Loaded) string {
	tasks := "refused"
	if c, ok := l.Tasks.(*task.Config); ok {
		tasks = c.Hash()
	}
	return strings.Join([]string{l.System.Spec().Hash(), l.CCL.Hash(), tasks}, " ")
}

// addErrors loads each configuration of a choice again and records all mistakes. It skips
// the configuration of tasks if the choice does not give one.
func (p *Plan) addErrors(ctx context.Context, s choice) {
	at := map[*setup.Kind]string{setup.Topology: s.system.value, setup.CCL: keyPath("ccl", p.CCL, p.base.CCL), setup.Tasks: keyPath("tasks", p.Tasks, p.base.Tasks)}
	for _, k := range s.Kinds {
		if k != setup.Tasks || len(s.Given(k)) > 0 {
			p.placeErrors(s, s.LoadKind(ctx, k, new(setup.Loaded)), at[k])
		}
	}
}

// keyPath returns the path of a key in the file of the sweep, or "" if the file does not
// have the key or a flag overrides it. `value` is the value of the key in the file, and
// `flag` the value of the flag.
func keyPath(key, value, flag string) string {
	if value == "" || flag != "" {
		return ""
	}
	return key
}

// placeErrors records the mistakes in err, the error of loading one configuration. A
// mistake in a setting of the sweep's file is reported at the place of the setting. `path`
// is the place in the sweep's file that names the configuration.
func (p *Plan) placeErrors(s choice, err error, path string) {
	for _, e := range config.Flatten(err) {
		var at *config.Error
		path, text := path, e.Error()
		switch {
		case !errors.As(e, &at): // about the name itself, reported at path
		case at.File == "--set":
			path, text = s.setAt(at), at.Path+": "+at.Msg
		default:
			path = "" // the error already names a place in another file
		}
		if path != "" {
			p.fail(path, "%s", text)
		} else {
			p.otherErrors = append(p.otherErrors, e)
		}
	}
}

// setAt returns the place in the file of the sweep of the setting that caused mistake e.
// This is the last setting whose key equals the path of e, is above that path or is below
// it. For a setting on the command line, setAt returns "".
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

// loadOptions returns the options to run the bench for a choice. It loads the
// configurations unless they are in memory, and returns an error if they have changed since
// the plan was made.
func (p *Plan) loadOptions(ctx context.Context, s choice) (o bench.Options, err error) {
	l, ok := p.loaded[s.key()]
	if !ok {
		if l, err = s.Load(ctx); err != nil {
			return o, err
		}
		if configHashes(l) != p.hashes[s.key()] {
			return o, errors.New("its configuration was changed while the sweep ran: start the sweep again")
		}
	}
	return p.benchOptions(l, s), nil
}

// benchOptions returns the options to run the bench with the loaded configurations l and
// the parameters of s. The bench runs on one thread, because points run in parallel.
func (p *Plan) benchOptions(l *setup.Loaded, s choice) bench.Options {
	return bench.Options{Params: s.params, Options: torch.Options{
		Topology: l.System, CCL: l.CCL, Settings: []any{l.Tasks}, Threads: 1,
		NoData: p.Data == "off", Race: p.Check == "race", Flit: p.Fidelity == "flit",
	}}
}
