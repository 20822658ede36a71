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

// Runtime selects what builds the graph of a program, where dependencies come from, and how
// tasks are stored.
type Runtime string

// The runtimes.
const (
	HostBuildGraph         Runtime = "host_build_graph"         // the host, before anything runs
	AICPUBuildGraph        Runtime = "aicpu_build_graph"        // a control core of the device; only explicit edges
	TensorMapAndRingBuffer Runtime = "tensormap_and_ringbuffer" // an orchestrator, while other control cores schedule
)

// Runtimes lists all runtimes.
var Runtimes = []Runtime{HostBuildGraph, AICPUBuildGraph, TensorMapAndRingBuffer}

// ParseRuntime returns the runtime with the given name.
func ParseRuntime(name string) (Runtime, error) {
	if !slices.Contains(Runtimes, Runtime(name)) {
		return "", fmt.Errorf("no runtime %.60q: write one of %s", name, strings.Join(printable.Words(Runtimes), ", "))
	}
	return Runtime(name), nil
}

// infers reports whether the runtime infers dependencies from tensor regions.
func (r Runtime) infers() bool { return r != AICPUBuildGraph }

// Config is the costs and the storage of the runtimes: tasks.yaml, after extends and --set.
type Config struct {
	Control   Control    `yaml:"control"`                  // costs that all runtimes have in common
	Host      HostGraph  `yaml:"host_build_graph"`         // costs and storage of host_build_graph
	AICPU     AICPUGraph `yaml:"aicpu_build_graph"`        // costs and storage of aicpu_build_graph
	TensorMap TensorMap  `yaml:"tensormap_and_ringbuffer"` // costs and storage of tensormap_and_ringbuffer

	origin *config.Doc // where each value was written; nil for a config made in Go
}

// Control is the cost of handing tasks from control cores to compute cores.
type Control struct {
	RegisterRead topology.Time `yaml:"register_read"`                   // time to read a register of a compute core: once per end of a kernel, per message of another rank and per value
	PostedWrite  topology.Time `yaml:"posted_write"`                    // time to write a register without waiting: once per PE of a task and per message to another rank
	ToCompute    topology.Time `yaml:"to_compute"`                      // time from the write until the compute core sees it
	CoreSwitch   topology.Time `yaml:"core_switch"`                     // time from then to the first instruction of the kernel
	ComputeCores int           `yaml:"compute_cores" range:"0..131072"` // number of PEs of a rank that run tasks, from the first of its SIP; 0 for all
}

// HostGraph is the cost of building a graph on the host, and the capacity of the graph.
type HostGraph struct {
	Fixed   topology.Time `yaml:"fixed"`                     // time for any graph
	PerTask topology.Time `yaml:"per_task"`                  // time for each task
	Tasks   int           `yaml:"tasks" range:"1..16777216"` // largest number of tasks in a graph
}

// AICPUGraph is the cost of building a graph on a control core, and its capacity.
type AICPUGraph struct {
	PerTask topology.Time `yaml:"per_task"`                  // time for each task
	PerEdge topology.Time `yaml:"per_edge"`                  // time for each explicit edge
	Tasks   int           `yaml:"tasks" range:"1..16777216"` // largest number of tasks that are submitted and not ended
}

// TensorMap is the cost of building a graph on an orchestrator, its capacity, and the number
// of schedulers.
type TensorMap struct {
	PerTask    topology.Time `yaml:"per_task"`                  // time for each task
	PerEdge    topology.Time `yaml:"per_edge"`                  // time for each explicit edge
	PerTensor  topology.Time `yaml:"per_tensor"`                // time for each region that a task touches
	Slots      int           `yaml:"slots" range:"1..16777216"` // slots of each ring
	Rings      int           `yaml:"rings" range:"1..64"`       // number of rings, one per depth of scope; deeper scopes share the last
	Schedulers int           `yaml:"schedulers" range:"1..64"`  // number of control cores in addition to the orchestrator
}

// submitTime returns how long a control core takes under runtime r to submit one task with
// the given number of explicit edges and regions.
func (c *Config) submitTime(r Runtime, edges, tensors int) topology.Time {
	if r == AICPUBuildGraph {
		return c.AICPU.PerTask + topology.Time(edges)*c.AICPU.PerEdge
	}
	return c.TensorMap.PerTask + topology.Time(edges)*c.TensorMap.PerEdge + topology.Time(tensors)*c.TensorMap.PerTensor
}

// schedulers returns the number of control cores per rank that schedule tasks under runtime
// r.
func (c *Config) schedulers(r Runtime) int {
	if r == TensorMapAndRingBuffer {
		return c.TensorMap.Schedulers
	}
	return 1
}

// File is the name of the file that Load reads if it is given an empty name.
const File = "tasks.yaml"

//go:embed tasks.yaml
var defaultFile []byte

var file = config.File[Config]{Presets: config.Presets{"default": defaultFile}, DefaultFile: File, New: func(d *config.Doc) *Config { return &Config{origin: d} }}

// Load reads a configuration from the file with the given name. The name "default" means
// the preset, unless there is a file of that name. If name is empty, Load reads
// ./tasks.yaml if that file exists, and otherwise the preset. [Config.Source] returns what
// was read. Each of `sets` changes one value, as in "control.register_read=50ns". The error
// has a line for every mistake. If ctx ends while Load reads, Load returns
// [context.Cause] of ctx.
func Load(ctx context.Context, name string, sets ...string) (*Config, error) {
	return file.Load(ctx, name, sets...)
}

// Parse reads a configuration from src. The text may extend the preset, but no files. Each
// of `sets` changes one value, as in Load. Errors refer to the text as `name`.
func Parse(name string, src []byte, sets ...string) (*Config, error) {
	return file.Parse(name, src, sets...)
}

// Default returns the configuration that comes with the package.
func Default() *Config { return file.Default() }

// Source returns where the configuration was loaded from: a path or "preset default",
// followed by each --set argument. It is "" for a configuration made in Go.
func (c *Config) Source() string { return c.origin.Name() }

// Files returns the files that the configuration was loaded from: the requested file and
// the files that it extends. Presets are not listed.
func (c *Config) Files() []string { return c.origin.Files() }

// YAML returns the configuration as a complete file. Loading the file gives an equal
// configuration.
func (c *Config) YAML() []byte { return config.Encode(c, config.Quantities) }

// Hash returns a hash of the values of the configuration. The hash does not depend on the
// files and arguments from which the values were read.
func (c *Config) Hash() string { return config.Digest(c.YAML()) }

// schema is generated from the types and comments in config.go by the tests of this
// package, which also compare it with the loader. Run go test ./task -update to rewrite it.
//
//go:embed tasks.schema.json
var schema []byte

// Schema returns the JSON Schema of tasks.yaml, for editors. The schema does not check the
// largest value of a time, nor that a time is a whole number of femtoseconds.
func Schema() []byte { return slices.Clone(schema) }
