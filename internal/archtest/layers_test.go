package archtest

import "strings"

// module is the path of this module. The packages below are relative to it.
const module = "github.com/kernbench/kernbench"

// layers lists the layers of the module. A package may import packages of its own layer and
// of the layers above it in the list. Packages of an independent layer must not import each
// other. A new package belongs in the last layer from which all packages that use it may
// import it. A name that ends in "/..." also means all packages in that folder.
var layers = []struct {
	name        string
	packages    []string
	independent bool
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
	{name: "evaluation: tables", independent: true, packages: []string{"table"}},
	{name: "evaluation: views", independent: true, packages: []string{"internal/page", "internal/draw", "internal/describe", "internal/trace/analysis"}},
	{name: "evaluation: experiments", independent: true, packages: []string{"internal/experiment"}},
	{name: "evaluation: figures", independent: true, packages: []string{"internal/plot", "task/chart", "internal/progress"}},
	{name: "evaluation: measurements", independent: true, packages: []string{"internal/probe", "internal/collperf", "scenario/runner"}},
	{name: "evaluation: comparisons", independent: true, packages: []string{"internal/compare"}},
	{name: "benches: contract", independent: true, packages: []string{"bench"}},
	{name: "benches: uses", independent: true, packages: []string{"bench/builtin", "scenario/builtin", "internal/setup", "internal/replay"}},
	{name: "sweeps", independent: true, packages: []string{"internal/sweep"}},
	{name: "command", independent: true, packages: []string{"internal/cli"}},
	{name: "command: entry", independent: true, packages: []string{"."}},
	{name: "programs", independent: true, packages: []string{"cmd/kernbench", "cmd/collbench", "cmd/simbench", "examples/...", "internal/archtest"}}, // internal/archtest tests the repository
}

// printers lists the packages that may call fmt.Print.
var printers = []string{"cmd/...", "internal/cli", "examples/..."}

// fileAccessors lists internal/file and the other packages that may open files: for shared
// memory and locks, system files, the executable of the running program, tests and tools.
var fileAccessors = []string{
	"internal/file", "internal/experiment", "internal/version", "internal/host/...", "comm/shm", "comm/launch",
	"internal/config/configtest", "cmd/collbench", "cmd/simbench", "examples/...",
}

// yamlLibraries lists the import paths that only internal/config and tests may use.
var yamlLibraries = []string{"go.yaml.in/yaml/...", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3"}

// layerOf returns the index in `layers` of the layer that contains a package, or -1 if no
// layer does.
func layerOf(pkg string) int {
	for i, l := range layers {
		if matchesAny(l.packages, pkg) {
			return i
		}
	}
	return -1
}

// matchesAny reports whether pkg equals one of the patterns, or is in the folder of a
// pattern that ends in "/...".
func matchesAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if below, ok := strings.CutSuffix(p, "/..."); pkg == below || ok && strings.HasPrefix(pkg, below+"/") {
			return true
		}
	}
	return false
}
