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

// topologyFlags is which system a command works on. Every command that needs
// one takes it from here.
type topologyFlags struct {
	name systemName
	sets []string
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

// Examples of --set.
const (
	exampleSet      = "sip.ucie.bandwidth=256GB/s"
	exampleCCLSet   = cclPrefix + "defaults.buffer_kind=hbm"
	exampleTasksSet = tasksPrefix + "control.register_read=50ns"
)

// addTopologyFlags gives a command --topology and --set.
func addTopologyFlags(cmd *cobra.Command) *topologyFlags {
	f := &topologyFlags{}
	f.addTopology(cmd)
	addSet(cmd, &f.sets, exampleSet, settableKeys[topology.Spec](""))
	return f
}

// addTopology gives a command --topology alone.
func (f *topologyFlags) addTopology(cmd *cobra.Command) {
	cmd.Flags().VarP(&f.name, "topology", "t", "file or preset `NAME` of the system (default ./topology.yaml, else the preset default)")
	complete(cmd, "topology", topology.Presets(), cobra.ShellCompDirectiveDefault)
}

// addSet gives a command --set, with an example and the beginnings of all others.
func addSet(cmd *cobra.Command, sets *[]string, example string, keys []string) {
	// An array, not a slice: a value may hold commas.
	cmd.Flags().StringArrayVar(sets, "set", nil, "change one value, as `KEY=VALUE` (repeatable): "+example)
	complete(cmd, "set", keys, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
}

// settableKeys is the paths of all values of a configuration, as --set begins. Names
// that a file gives are those of the embedded ccl.yaml.
func settableKeys[T any](prefix string) []string {
	var paths []string
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		for _, k := range config.Keys(t) {
			_, single := topology.Scalars()[k.Type]
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
	walk(reflect.TypeFor[T](), prefix)
	return paths
}

// load reads and compiles the system. Its errors are mistakes of the user.
func (f *topologyFlags) load(ctx context.Context) (*topology.Graph, error) {
	spec, err := topology.LoadContext(ctx, string(f.name), f.sets...)
	if err != nil {
		return nil, badInput(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		return nil, badInput(err)
	}
	return g, nil
}

// configFlags is what a command runs on: a system, and how collectives are done there.
type configFlags struct {
	topologyFlags
	ccl string
}

// What begins the keys of --set that are not the topology's.
const (
	cclPrefix   = "ccl."
	tasksPrefix = "tasks."
)

// addConfigFlags gives a command --topology, --ccl, and a --set for both.
func addConfigFlags(cmd *cobra.Command) *configFlags {
	f := &configFlags{}
	f.add(cmd)
	addSet(cmd, &f.sets, exampleSet+", "+exampleCCLSet, f.keys())
	return f
}

func (f *configFlags) add(cmd *cobra.Command) {
	f.addTopology(cmd)
	addCCL(cmd, &f.ccl)
}

func (f *configFlags) keys() []string {
	return append(settableKeys[topology.Spec](""), settableKeys[ccl.Config](cclPrefix)...)
}

// addCCL gives a command --ccl.
func addCCL(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "ccl", "", "`FILE` that says how collectives are done (default ./ccl.yaml, else the embedded one)")
}

// load reads the system and how collectives are done, with the mistakes in both.
func (f *configFlags) load(ctx context.Context) (*topology.Graph, *ccl.Config, error) {
	collectives, system := splitSets(f.sets, cclPrefix)
	g, err := (&topologyFlags{f.name, system}).load(ctx)
	c, cclErr := loadCCL(ctx, f.ccl, collectives)
	if err := errors.Join(err, cclErr); err != nil {
		return nil, nil, badInput(err)
	}
	return g, c, nil
}

// loadCCL reads how collectives are done. Keys of --set may begin with the prefix that
// tells them from those of a topology.
func loadCCL(ctx context.Context, name string, sets []string) (*ccl.Config, error) {
	c, err := ccl.LoadContext(ctx, name, withoutPrefix(sets, cclPrefix)...)
	if err != nil {
		return nil, badInput(err)
	}
	return c, nil
}

// programFlags is what a program of the host API runs on: besides, what its tasks cost.
type programFlags struct {
	configFlags
	tasks string
}

// addProgramFlags gives a command --topology, --ccl, --tasks, and a --set for all.
func addProgramFlags(cmd *cobra.Command) *programFlags {
	f := &programFlags{}
	f.add(cmd)
	addTasks(cmd, &f.tasks)
	addSet(cmd, &f.sets, strings.Join([]string{exampleSet, exampleCCLSet, exampleTasksSet}, ", "),
		append(f.keys(), settableKeys[task.Config](tasksPrefix)...))
	return f
}

// addTasks gives a command --tasks.
func addTasks(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "tasks", "", "`FILE` that says what scheduling tasks costs (default ./tasks.yaml, else the embedded one)")
}

// load reads the three, with the mistakes in all of them. What tasks cost is a setting of a
// torch.Context: a ./tasks.yaml that nobody has asked for and that has mistakes is refused
// by those who use it, and others never hear of it.
func (f *programFlags) load(ctx context.Context) (*topology.Graph, *ccl.Config, any, error) {
	tasks, others := splitSets(f.sets, tasksPrefix)
	g, c, err := (&configFlags{topologyFlags{f.name, others}, f.ccl}).load(ctx)
	t, tasksErr := loadTasks(ctx, f.tasks, tasks)
	if f.tasks == "" && len(tasks) == 0 && tasksErr != nil && err == nil {
		return g, c, &task.Refused{Err: tasksErr}, nil
	}
	if err := errors.Join(err, tasksErr); err != nil {
		return nil, nil, nil, badInput(err)
	}
	return g, c, t, nil
}

// readsProgram declares the files of the configurations that a program runs on.
func (f *files) readsProgram(g *topology.Graph, c *ccl.Config, tasks any) {
	f.readsConfig("topology", g.Spec())
	f.readsConfig("ccl", c)
	if t, ok := tasks.(*task.Config); ok { // else it was refused, and is not used
		f.readsConfig("tasks", t)
	}
}

// loadTasks reads what scheduling tasks costs. Keys of --set may begin with the prefix
// that tells them from those of a topology.
func loadTasks(ctx context.Context, name string, sets []string) (*task.Config, error) {
	c, err := task.LoadContext(ctx, name, withoutPrefix(sets, tasksPrefix)...)
	if err != nil {
		return nil, badInput(err)
	}
	return c, nil
}

// splitSets parts the arguments of --set that begin with a prefix from the others.
func splitSets(sets []string, prefix string) (with, without []string) {
	for _, set := range sets {
		if strings.HasPrefix(set, prefix) {
			with = append(with, set)
		} else {
			without = append(without, set)
		}
	}
	return with, without
}

// withoutPrefix is arguments of --set as the file has the keys.
func withoutPrefix(sets []string, prefix string) []string {
	keys := make([]string, len(sets))
	for i, set := range sets {
		keys[i] = strings.TrimPrefix(set, prefix)
	}
	return keys
}
