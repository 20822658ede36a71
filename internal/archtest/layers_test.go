package archtest

import "strings"

// module is the path of this module; the packages below are relative to it.
const module = "github.com/kernbench/kernbench"

// layers is the order of the module: a package imports from its own layer and
// from those above it. A new package goes where its first importer needs it and
// no lower. "..." at the end stands for all packages below.
var layers = []struct {
	name     string
	packages []string
}{
	{"foundation", []string{"simtime", "internal/sim", "topology", "internal/printable", "internal/config", "internal/config/configtest", "internal/file", "internal/rapidtest", "internal/host", "internal/host/hosttest", "internal/stack", "internal/version"}},
	{"values", []string{"numeric", "oplog", "internal/npy", "internal/dense", "internal/trace"}},
	{"kernels", []string{"tl"}},
	{"machines", []string{
		"internal/fabric", "internal/memory", "internal/pe", "internal/ipcq", "internal/cpu", "internal/machine", "internal/exec",
		"comm", "comm/commtest", "comm/inproc", "comm/shm", "comm/launch", "internal/procpe", "internal/taskrank",
	}},
	{"collectives", []string{"ccl", "comm/coll"}},
	{"host API", []string{"internal/stream", "internal/hosted", "torch", "torch/dist", "internal/hosted/lab", "tp", "attention", "task", "scenario"}},
	{"evaluation", []string{"table", "internal/page", "internal/describe", "scenario/runner", "internal/experiment", "internal/draw", "internal/probe", "internal/collperf", "internal/trace/analysis", "internal/compare", "internal/plot", "task/chart"}},
	{"benches", []string{"bench", "bench/builtin", "scenario/builtin"}},
	{"command", []string{
		"internal/cli", ".", "cmd/kernbench", "cmd/collbench", "examples/...",
		"internal/archtest", // the repository's own tests
	}},
}

// printers is where fmt.Print may appear.
var printers = []string{"cmd/...", "internal/cli", "examples/..."}

// fileAccessors is the packages that may open files by themselves, beside internal/file: for
// shared memory and locks, for files of the system, for the running program, and for
// tests and tools.
var fileAccessors = []string{
	"internal/file", "internal/experiment", "internal/version", "internal/host/...", "comm/shm", "comm/launch",
	"internal/config/configtest", "cmd/collbench", "examples/...",
}

// yamlLibraries are the import paths that only internal/config, and tests, may use.
var yamlLibraries = []string{"go.yaml.in/yaml/...", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3"}

// layerOf is the index in layers of a package, or -1.
func layerOf(pkg string) int {
	for i, l := range layers {
		if matchesAny(l.packages, pkg) {
			return i
		}
	}
	return -1
}

// matchesAny reports whether a package is one of the patterns, or lies below
// one that ends in "...".
func matchesAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if below, ok := strings.CutSuffix(p, "/..."); pkg == below || ok && strings.HasPrefix(pkg, below+"/") {
			return true
		}
	}
	return false
}
