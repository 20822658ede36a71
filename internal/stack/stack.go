package stack

import (
	"path"
	"slices"
	"strings"
)

const module = "github.com/kernbench/kernbench/"

// simulator is the packages that run kernels and host code: a panic in them is a bug.
var simulator = []string{module + "internal/", module + "tl.", module + "torch.", module + "torch/dist.", module + "topology.", module + "numeric.", module + "oplog.", module + "simtime."}

// library is the packages that authors call, and that also hold kernels of their own.
var library = []string{module + "ccl.", module + "tp.", module + "attention.", module + "task.", module + "scenario.", module + "comm", module + "bench."}

// Line returns the innermost line of a stack that is an author's code, as "scale.go:12":
// neither the standard library's nor this module's. Where there is none it is the
// innermost line outside of the simulator, such as that of a built-in collective.
// Inside reports whether the innermost line of all, but for the standard library, is in
// the simulator.
//
// The text is that of debug.Stack, in a deferred call that has recovered a panic, or of
// one goroutine from runtime.Stack.
func Line(text string) (line string, inside bool) {
	if _, after, panicked := strings.Cut(text, "\npanic("); panicked {
		text = "panic(" + after
	} else if _, after, header := strings.Cut(text, ":\n"); header && strings.HasPrefix(text, "goroutine ") {
		text = after
	}
	lines := strings.Split(text, "\n") // two for each call: its function, and a tab, the file and the line
	standard := folder(lines)
	kernels := ""
	for i, first := 0, true; i+1 < len(lines); i += 2 {
		function, at := lines[i], lines[i+1]
		if strings.HasPrefix(function, "created by ") {
			break
		}
		if strings.HasPrefix(function, "panic(") || strings.HasPrefix(function, "runtime.") || standard != "" && strings.HasPrefix(at, standard) {
			continue
		}
		at, _, _ = strings.Cut(path.Base(at), " ")
		test := strings.Contains(at, "_test.go:") // authors' code in tests of this module
		ours := !test && in(function, simulator)
		if first {
			inside, first = ours, false
		}
		switch {
		case ours:
		case !test && in(function, library):
			if kernels == "" {
				kernels = at
			}
		default:
			return at, inside
		}
	}
	return kernels, inside
}

// folder returns how lines of files of the standard library begin, "" if that is unknown:
// builds with -trimpath leave it out.
func folder(lines []string) string {
	for _, l := range lines {
		for _, known := range []string{"runtime/panic.go:", "iter/iter.go:"} {
			if before, _, ok := strings.Cut(l, known); ok && len(before) > 1 {
				return before
			}
		}
	}
	return ""
}

func in(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}
