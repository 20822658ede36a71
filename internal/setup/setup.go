package setup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// Config is a loaded configuration of any kind, with its source and hash.
type Config interface {
	file.Config
	Source() string
	Hash() string
}

// Kind is a kind of configuration. A flag names its file, and --set changes single values.
type Kind struct {
	Name    string // name of the flag, of the key in a sweep's file, and of the file without .yaml
	Prefix  string // prefix of keys of --set; "" for the topology
	Example string // example of --set
	Says    string // what the file configures, for help texts

	spec reflect.Type
	load func(ctx context.Context, l *Loaded, name string, sets []string) (Config, error)
	size func(l *Loaded, v *Validation) string // returns the size of a valid configuration as text, and sets the fields of v that only this kind has

	uses      bench.Uses // flag of benches that read the kind; 0 if all benches do
	why, past string     // reasons in messages: why a bench ignores the kind, and why a run ignored it
}

// The kinds of configurations.
var (
	Topology = &Kind{
		Name: "topology", Example: "sip.ucie.bandwidth=256GB/s", spec: reflect.TypeFor[topology.Spec](),
		load: func(ctx context.Context, l *Loaded, name string, sets []string) (Config, error) {
			spec, err := topology.Load(ctx, name, sets...)
			if err == nil {
				l.System, err = topology.Compile(spec)
			}
			return spec, err
		},
		size: func(l *Loaded, v *Validation) string {
			v.PEs = describe.Describe(l.System).Totals.PEs
			return fmt.Sprintf("%d PEs", v.PEs)
		},
	}
	CCL = &Kind{
		Name: "ccl", Prefix: "ccl.", Example: "ccl.defaults.buffer_kind=hbm", Says: "the configuration of collectives", spec: reflect.TypeFor[ccl.Config](),
		load: func(ctx context.Context, l *Loaded, name string, sets []string) (_ Config, err error) {
			l.CCL, err = ccl.Load(ctx, name, sets...)
			return l.CCL, err
		},
		size: func(l *Loaded, v *Validation) string {
			v.Algorithms = l.CCL.Names()
			return fmt.Sprintf("entries: %d", len(v.Algorithms))
		},
		uses: bench.UsesCollectives, why: "does no collectives", past: "did no collective",
	}
	Tasks = &Kind{
		Name: "tasks", Prefix: "tasks.", Example: "tasks.control.register_read=50ns", Says: "the costs of scheduling tasks", spec: reflect.TypeFor[task.Config](),
		load: func(ctx context.Context, l *Loaded, name string, sets []string) (Config, error) {
			t, err := task.Load(ctx, name, sets...)
			l.Tasks = t
			return t, err
		},
		size: func(*Loaded, *Validation) string { return fmt.Sprintf("runtimes: %d", len(task.Runtimes)) },
		uses: bench.UsesTasks, why: "runs no tasks", past: "ran no tasks",
	}
	// Program is the kinds of configuration that a program of the host API uses.
	Program = []*Kind{Topology, CCL, Tasks}
)

// Keys returns the paths of all values of the configuration, each followed by =, as for
// --set. Where the configuration has a map, whose keys a file may choose, Keys uses the
// keys of the embedded ccl.yaml.
func (k *Kind) Keys() []string {
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
	walk(k.spec, k.Prefix)
	return paths
}

// Choice names the configurations to load.
type Choice struct {
	Kinds                []*Kind
	Topology, CCL, Tasks string   // file or preset; "" is the default
	Sets                 []string // KEY=VALUE
}

// File returns a pointer to the field of c that holds the file name for the kind k.
func (c *Choice) File(k *Kind) *string {
	return map[*Kind]*string{Topology: &c.Topology, CCL: &c.CCL, Tasks: &c.Tasks}[k]
}

// Given returns the flags that choose or change the configuration of kind k, as they were
// written.
func (c *Choice) Given(k *Kind) (texts []string) {
	if name := *c.File(k); name != "" {
		texts = append(texts, fmt.Sprintf("--%s %s", k.Name, name))
	}
	for _, set := range c.Sets {
		if strings.HasPrefix(set, k.Prefix) {
			texts = append(texts, "--set "+set)
		}
	}
	return texts
}

// Loaded is the loaded configurations of a choice.
type Loaded struct {
	System *topology.Graph
	CCL    *ccl.Config
	Tasks  any // *task.Config or *task.Refused, a setting of a torch.Context
	read   []Config
	kinds  []*Kind // kinds of read, by index
}

// Config returns the configuration that was read first.
func (l *Loaded) Config() Config { return l.read[0] }

// AddTo adds the files of the configurations to u and returns u.
func (l *Loaded) AddTo(u *file.Uses) *file.Uses {
	for i, c := range l.read {
		u.ReadsConfig(l.kinds[i].Name, c)
	}
	return u
}

// LoadKind reads the configuration of a kind into l. It applies the settings of Sets whose
// keys have the prefix of the kind. Keys without a prefix of any kind belong to the first
// kind of the choice.
func (c *Choice) LoadKind(ctx context.Context, kind *Kind, l *Loaded) error {
	var sets []string
	for _, set := range c.Sets {
		owner := c.Kinds[0]
		for _, k := range c.Kinds[1:] {
			if strings.HasPrefix(set, k.Prefix) {
				owner = k
			}
		}
		if owner == kind {
			sets = append(sets, strings.TrimPrefix(set, kind.Prefix))
		}
	}
	one, err := kind.load(ctx, l, *c.File(kind), sets)
	if err == nil {
		l.read, l.kinds = append(l.read, one), append(l.kinds, kind)
	}
	return err
}

// Load reads all configurations and returns the mistakes in all of them. If ./tasks.yaml
// has mistakes and no flag chooses or changes the tasks, Load returns no error for the
// file. The runs that use tasks then fail.
func (c *Choice) Load(ctx context.Context) (*Loaded, error) {
	l := &Loaded{}
	var err error
	for _, k := range c.Kinds {
		e := c.LoadKind(ctx, k, l)
		if e != nil && err == nil && k == Tasks && len(c.Kinds) > 1 && len(c.Given(k)) == 0 {
			l.Tasks, e = &task.Refused{Err: e}, nil
		}
		err = errors.Join(err, e)
	}
	return l, err
}
