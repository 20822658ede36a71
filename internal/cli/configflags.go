package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// configuration is what a command reads from YAML files.
type configuration interface {
	Files() []string // that it was read from
	YAML() []byte    // the whole of it, as a file that loads back
	Source() string
	Hash() string
}

// configKind is a kind of configuration: a flag names its file, and --set changes single values.
type configKind struct {
	name    string // of the flag, and of the file, with .yaml
	prefix  string // of keys of --set
	example string // of --set
	says    string // what the file says
	spec    reflect.Type
	load    func(ctx context.Context, c *configs, name string, sets []string) (configuration, error)
}

// The kinds of configurations.
var (
	topologyKind = &configKind{
		name: "topology", example: "sip.ucie.bandwidth=256GB/s", spec: reflect.TypeFor[topology.Spec](),
		load: func(ctx context.Context, c *configs, name string, sets []string) (configuration, error) {
			spec, err := topology.Load(ctx, name, sets...)
			if err == nil {
				c.system, err = topology.Compile(spec)
			}
			return spec, err
		},
	}
	cclKind = &configKind{
		name: "ccl", prefix: cclPrefix, example: cclPrefix + "defaults.buffer_kind=hbm", says: "how collectives are done", spec: reflect.TypeFor[ccl.Config](),
		load: func(ctx context.Context, c *configs, name string, sets []string) (_ configuration, err error) {
			c.ccl, err = ccl.Load(ctx, name, sets...)
			return c.ccl, err
		},
	}
	tasksKind = &configKind{
		name: "tasks", prefix: tasksPrefix, example: tasksPrefix + "control.register_read=50ns", says: "what scheduling tasks costs", spec: reflect.TypeFor[task.Config](),
		load: func(ctx context.Context, c *configs, name string, sets []string) (configuration, error) {
			t, err := task.Load(ctx, name, sets...)
			c.tasks = t
			return t, err
		},
	}
	// programKinds is what a program of the host API runs on.
	programKinds = []*configKind{topologyKind, cclKind, tasksKind}
)

// The prefixes of keys of --set that are not the topology's.
const (
	cclPrefix   = "ccl."
	tasksPrefix = "tasks."
)

// keys returns the paths of all values of the configuration, as --set begins. Names
// that a file gives are those of the embedded ccl.yaml.
func (k *configKind) keys() []string {
	var paths []string
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for _, k := range config.Keys(t) {
			_, single := config.Quantities[k.Type]
			switch {
			case k.Type.Kind() == reflect.Struct && !single:
				walk(k.Type, prefix+k.Name+".")
			case k.Type.Kind() == reflect.Map:
				for _, name := range ccl.Default().Names() {
					walk(k.Type.Elem(), prefix+k.Name+"."+name+".")
				}
			default:
				paths = append(paths, prefix+k.Name+"=")
			}
		}
	}
	walk(k.spec, k.prefix)
	return paths
}

// configFlags chooses the configurations that a command works on.
type configFlags struct {
	kinds                []*configKind
	topology, ccl, tasks string // files, or a preset; "" is the usual one
	sets                 []string
}

// configs is the configurations that a command works on, of the kinds that it has flags for.
type configs struct {
	system *topology.Graph
	ccl    *ccl.Config
	tasks  any     // *task.Config or *task.Refused, a setting of a torch.Context
	read   []input // the same, with what they are
}

// systemName is a file or preset; empty only where none was given.
type systemName string

func (n *systemName) String() string { return string(*n) }
func (n *systemName) Type() string   { return "name" }
func (n *systemName) Set(word string) error {
	if word == "" {
		return fmt.Errorf("empty: write a file or a preset (%s)", strings.Join(topology.Presets(), ", "))
	}
	*n = systemName(word)
	return nil
}

// addConfigFlags gives a command a flag for each kind of configuration, and one --set.
func addConfigFlags(cmd *cobra.Command, kinds ...*configKind) *configFlags {
	f := &configFlags{kinds: kinds}
	f.addFiles(cmd)
	f.addSet(cmd)
	return f
}

// addFiles gives a command the flags that name files.
func (f *configFlags) addFiles(cmd *cobra.Command) {
	for _, k := range f.kinds {
		if k == topologyKind {
			cmd.Flags().VarP((*systemName)(&f.topology), k.name, "t", "file or preset `NAME` of the system (default ./topology.yaml, else the preset default)")
			complete(cmd, k.name, topology.Presets(), cobra.ShellCompDirectiveDefault)
			continue
		}
		cmd.Flags().StringVar(f.file(k), k.name, "", fmt.Sprintf("`FILE` that says %s (default ./%s.yaml, else the embedded one)", k.says, k.name))
	}
}

// addSet gives a command --set, with examples and the beginnings of all keys.
func (f *configFlags) addSet(cmd *cobra.Command) {
	var examples, keys []string
	for _, k := range f.kinds {
		examples, keys = append(examples, k.example), append(keys, k.keys()...)
	}
	// An array, not a slice: a value may hold commas.
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one value, as `KEY=VALUE` (repeatable): "+strings.Join(examples, ", "))
	complete(cmd, "set", keys, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// file returns where the file of a kind is named.
func (f *configFlags) file(k *configKind) *string {
	return map[*configKind]*string{topologyKind: &f.topology, cclKind: &f.ccl, tasksKind: &f.tasks}[k]
}

// given returns the flags, as they were written, that choose a configuration.
func (f *configFlags) given(k *configKind) (texts []string) {
	if file := *f.file(k); file != "" {
		texts = append(texts, fmt.Sprintf("--%s %s", k.name, file))
	}
	for _, set := range f.sets {
		if strings.HasPrefix(set, k.prefix) {
			texts = append(texts, "--set "+set)
		}
	}
	return texts
}

// loadKind reads the configuration of a kind. Keys of --set with its prefix are its own, and
// those of no kind belong to the first kind.
func (f *configFlags) loadKind(ctx context.Context, kind *configKind, c *configs) error {
	var sets []string
	for _, set := range f.sets {
		of := f.kinds[0]
		for _, k := range f.kinds[1:] {
			if strings.HasPrefix(set, k.prefix) {
				of = k
			}
		}
		if of == kind {
			sets = append(sets, strings.TrimPrefix(set, kind.prefix))
		}
	}
	one, err := kind.load(ctx, c, *f.file(kind), sets)
	if err == nil {
		c.read = append(c.read, input{what: kind.name, config: one})
	}
	return err
}

// load reads the configurations, with the mistakes in all of them. A ./tasks.yaml of a program
// that no flag asks for and that has mistakes is refused by those who use it, and others never
// hear of it.
func (f *configFlags) load(ctx context.Context) (c configs, err error) {
	for _, k := range f.kinds {
		e := f.loadKind(ctx, k, &c)
		if e != nil && err == nil && k == tasksKind && len(f.kinds) > 1 && len(f.given(k)) == 0 {
			c.tasks, e = &task.Refused{Err: e}, nil
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		return c, badInput(err)
	}
	return c, nil
}

// loadAlone is load for a command that has no other files and prints to standard output.
func (f *configFlags) loadAlone(ctx context.Context) (configs, error) {
	c, err := f.load(ctx)
	if err != nil {
		return c, err
	}
	return c, new(files).readsConfigs(c).check()
}
