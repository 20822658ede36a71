package archtest

import "strings"

// module is the path of this module; the packages below are relative to it.
const module = "github.com/kernbench/kernbench"

// layers is the order of the module: a package imports from its own row and from those
// above it, or from those above it alone where the packages of its row are apart. A new
// package goes where its first importer needs it and no lower. "..." at the end stands for
// all packages below.
var layers = []struct {
	name     string
	packages []string
	apart    bool
}{
	{name: "foundation", packages: []string{
		"simtime", "internal/sim", "topology", "internal/printable", "internal/lists", "internal/config", "internal/config/configtest", "internal/file", "internal/rapidtest",
		"internal/host", "internal/host/hosttest", "internal/stack", "internal/version",
	}},
	{name: "values", packages: []string{"numeric", "oplog", "internal/npy", "internal/dense", "internal/trace"}},
	{name: "kernels", packages: []string{"tl"}},
	{name: "machines", packages: []string{
		"internal/fabric", "internal/memory", "internal/pe", "internal/ipcq", "internal/cpu", "internal/machine", "internal/exec",
		"comm", "comm/commtest", "comm/inproc", "comm/shm", "comm/launch", "internal/procpe", "internal/taskrank",
	}},
	{name: "collectives", packages: []string{"ccl", "ccl/bound", "ccl/cost", "comm/coll"}},
	{name: "host API", packages: []string{"internal/stream", "internal/hosted", "torch", "torch/dist", "internal/hosted/hostedtest", "tp", "attention", "task", "scenario"}},
	{name: "evaluation: tables", apart: true, packages: []string{"table"}},
	{name: "evaluation: views", apart: true, packages: []string{"internal/page", "internal/draw", "internal/describe", "internal/trace/analysis"}},
	{name: "evaluation: experiments", apart: true, packages: []string{"internal/experiment"}},
	{name: "evaluation: figures", apart: true, packages: []string{"internal/plot", "task/chart", "internal/progress"}},
	{name: "evaluation: measurements", apart: true, packages: []string{"internal/probe", "internal/collperf", "scenario/runner"}},
	{name: "evaluation: comparisons", apart: true, packages: []string{"internal/compare"}},
	{name: "benches: contract", apart: true, packages: []string{"bench"}},
	{name: "benches: uses", apart: true, packages: []string{"bench/builtin", "scenario/builtin", "internal/setup", "internal/replay"}},
	{name: "sweeps", apart: true, packages: []string{"internal/sweep"}},
	{name: "command", apart: true, packages: []string{"internal/cli"}},
	{name: "command: entry", apart: true, packages: []string{"."}},
	{name: "programs", apart: true, packages: []string{"cmd/kernbench", "cmd/collbench", "examples/...", "internal/archtest"}}, // the last: tests of the repository
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
