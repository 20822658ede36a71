package stack

import (
	"path"
	"slices"
	"strings"
)

const module = "github.com/kernbench/kernbench/"

// simulator lists the prefixes of functions of the packages that run kernels and host code.
// A panic in such a function is a bug of the simulator.
var simulator = []string{module + "internal/", module + "tl.", module + "torch.", module + "torch/dist.", module + "topology.", module + "numeric.", module + "oplog.", module + "simtime."}

// library lists the prefixes of functions of the packages that user code calls and that
// also have kernels.
var library = []string{module + "ccl.", module + "tp.", module + "attention.", module + "task.", module + "scenario.", module + "comm", module + "bench."}

// Line returns the innermost line of a stack that is in user code, such as "scale.go:12".
// User code is neither in the standard library nor in this module. If there is no such
// line, it returns the innermost line outside of the simulator, such as a line of a
// built-in collective, or "". `inside` reports whether the innermost line outside of the
// standard library is in the simulator.
//
// `text` is the result of debug.Stack in a deferred call that has recovered a panic, or the
// stack of one goroutine from runtime.Stack.
func Line(text string) (line string, inside bool) {
	if _, after, panicked := strings.Cut(text, "\npanic("); panicked {
		text = "panic(" + after
	} else if _, after, header := strings.Cut(text, ":\n"); header && strings.HasPrefix(text, "goroutine ") {
		text = after
	}
	lines := strings.Split(text, "\n") // two lines for each call: the function; and a tab, the file and the line number
	standard := standardPrefix(lines)
	inLibrary := "" // the innermost line in a package of library
	for i, first := 0, true; i+1 < len(lines); i += 2 {
		function, at := lines[i], lines[i+1]
		if strings.HasPrefix(function, "created by ") {
			break
		}
		if strings.HasPrefix(function, "panic(") || strings.HasPrefix(function, "runtime.") || standard != "" && strings.HasPrefix(at, standard) {
			continue
		}
		at, _, _ = strings.Cut(path.Base(at), " ")
		test := strings.Contains(at, "_test.go:") // in tests of this module, test files are user code
		ours := !test && isIn(function, simulator)
		if first {
			inside, first = ours, false
		}
		switch {
		case ours:
		case !test && isIn(function, library):
			if inLibrary == "" {
				inLibrary = at
			}
		default:
			return at, inside
		}
	}
	return inLibrary, inside
}

// standardPrefix returns the prefix that the lines of a stack have if their file is in the
// standard library. It returns "" if the prefix is not known: builds with -trimpath have no
// folder in these lines.
func standardPrefix(lines []string) string {
	for _, l := range lines {
		for _, known := range []string{"runtime/panic.go:", "iter/iter.go:"} {
			if before, _, ok := strings.Cut(l, known); ok && len(before) > 1 {
				return before
			}
		}
	}
	return ""
}

// isIn reports whether the name of a function begins with one of the prefixes in
// `packages`.
func isIn(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}
