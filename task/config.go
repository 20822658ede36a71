package task

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/topology"
)

// Runtime is who builds the graph of a program, where dependencies come from, and where
// tasks are kept.
type Runtime string

// The runtimes.
const (
	HostBuildGraph         Runtime = "host_build_graph"         // the host, before anything runs
	AICPUBuildGraph        Runtime = "aicpu_build_graph"        // a control core of the device, explicit edges alone
	TensorMapAndRingBuffer Runtime = "tensormap_and_ringbuffer" // an orchestrator beside schedulers
)

// Runtimes lists them.
var Runtimes = []Runtime{HostBuildGraph, AICPUBuildGraph, TensorMapAndRingBuffer}

// ParseRuntime returns the runtime of a name.
func ParseRuntime(name string) (Runtime, error) {
	if !slices.Contains(Runtimes, Runtime(name)) {
		return "", fmt.Errorf("no runtime %.60q: write one of %s", name, strings.Join(printable.Words(Runtimes), ", "))
	}
	return Runtime(name), nil
}

// infers reports whether the runtime finds dependencies by tensor regions.
func (r Runtime) infers() bool { return r != AICPUBuildGraph }

// Config is what the runtimes cost and hold: tasks.yaml, after extends and --set.
type Config struct {
	Control   Control    `yaml:"control"`                  // what all have in common
	Host      HostGraph  `yaml:"host_build_graph"`         // of host_build_graph
	AICPU     AICPUGraph `yaml:"aicpu_build_graph"`        // of aicpu_build_graph
	TensorMap TensorMap  `yaml:"tensormap_and_ringbuffer"` // of tensormap_and_ringbuffer

	origin *config.Doc // where each value was written; nil for a config made in Go
}

// Control is how control cores hand tasks to compute cores.
type Control struct {
	RegisterRead topology.Time `yaml:"register_read"`                   // a look at a register of a compute core, one for each end of a kernel; also at a message of another rank, or at a value
	PostedWrite  topology.Time `yaml:"posted_write"`                    // a write to one, one for each PE of a task; also to another rank
	ToCompute    topology.Time `yaml:"to_compute"`                      // from such a write to when the compute core sees it
	CoreSwitch   topology.Time `yaml:"core_switch"`                     // from there to the first instruction of the kernel
	ComputeCores int           `yaml:"compute_cores" range:"0..131072"` // PEs of a rank that run tasks, the first of its SIP; 0: all
}

// HostGraph is what building on the host costs, and how much there is room for.
type HostGraph struct {
	Fixed   topology.Time `yaml:"fixed"`                     // for any graph
	PerTask topology.Time `yaml:"per_task"`                  // for each task
	Tasks   int           `yaml:"tasks" range:"1..16777216"` // that a graph may have
}

// AICPUGraph is the same of a control core.
type AICPUGraph struct {
	PerTask topology.Time `yaml:"per_task"`                  // for each task
	PerEdge topology.Time `yaml:"per_edge"`                  // for each explicit edge
	Tasks   int           `yaml:"tasks" range:"1..16777216"` // submitted and not ended
}

// TensorMap is the same of the orchestrator, and how many schedulers it has beside it.
type TensorMap struct {
	PerTask    topology.Time `yaml:"per_task"`                  // for each task
	PerEdge    topology.Time `yaml:"per_edge"`                  // for each explicit edge
	PerTensor  topology.Time `yaml:"per_tensor"`                // for each region that it touches, of its own rank or named of another
	Slots      int           `yaml:"slots" range:"1..16777216"` // of each ring
	Rings      int           `yaml:"rings" range:"1..64"`       // by depth of scope; deeper scopes share the last
	Schedulers int           `yaml:"schedulers" range:"1..64"`  // control cores beside the orchestrator
}

// submit returns how long a control core takes to submit a task with a number of explicit
// edges and regions: b of the closed forms.
func (c *Config) submit(r Runtime, edges, tensors int) topology.Time {
	if r == AICPUBuildGraph {
		return c.AICPU.PerTask + topology.Time(edges)*c.AICPU.PerEdge
	}
	return c.TensorMap.PerTask + topology.Time(edges)*c.TensorMap.PerEdge + topology.Time(tensors)*c.TensorMap.PerTensor
}

// schedulers returns the number of control cores of a rank that schedule.
func (c *Config) schedulers(r Runtime) int {
	if r == TensorMapAndRingBuffer {
		return c.TensorMap.Schedulers
	}
	return 1
}

// File is the configuration that Load reads when it is not told which.
const File = "tasks.yaml"

//go:embed tasks.yaml
var defaultFile []byte

var file = config.File[Config]{Presets: config.Presets{"default": defaultFile}, Usual: File, New: func(d *config.Doc) *Config { return &Config{origin: d} }}

// Load reads a configuration: a file of that name, or the preset default. With an empty
// name it is ./tasks.yaml if there is one, else the preset; [Config.Source] says which it
// was. Each of sets changes one value, as "control.register_read=50ns". The error has a line
// for every mistake; it is the cause of ctx if ctx ends before all is read.
func Load(ctx context.Context, name string, sets ...string) (*Config, error) {
	return file.Load(ctx, name, sets...)
}

// Parse is like Load for a text in memory, which may extend the preset but no files.
// Errors call it by the name given.
func Parse(name string, src []byte, sets ...string) (*Config, error) {
	return file.Parse(name, src, sets...)
}

// Default returns the configuration that comes with the package.
func Default() *Config { return file.Default() }

// Source returns where the configuration was loaded from: a path or "preset default", and
// each --set argument; "" for one made in Go.
func (c *Config) Source() string { return c.origin.Name() }

// Files lists the files that the configuration was loaded from: the one asked for, and those
// that it extends. Presets are none.
func (c *Config) Files() []string { return c.origin.Files() }

// YAML returns the configuration as a complete file, which loads to an equal one.
func (c *Config) YAML() []byte { return config.Encode(c, config.Quantities) }

// Hash identifies what the configuration says, whatever files and arguments it came from.
func (c *Config) Hash() string { return config.Digest(c.YAML()) }

// schema is generated from the types of config.go by the tests of this package, which
// also hold it against the loader: go test ./task -update rewrites it.
//
//go:embed tasks.schema.json
var schema []byte

// Schema returns the JSON Schema of tasks.yaml, for editors. It does not know how long a time
// may be, nor that one is a whole number of femtoseconds.
func Schema() []byte { return slices.Clone(schema) }
