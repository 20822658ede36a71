package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// lineOfPanic calls f, which panics, and returns the results of Line for the stack of the
// panic.
func lineOfPanic(f func()) (line string, inside bool) {
	defer func() {
		recover()
		line, inside = Line(string(debug.Stack()))
	}()
	f()
	return "", false
}

func TestLineOfAPanic(t *testing.T) {
	var list []int
	for name, f := range map[string]func(){
		"own":                     func() { panic("no luck") },
		"runtime":                 func() { list[len(list)]++ },
		"in the standard library": func() { _ = strings.Repeat("x", -1) },
	} {
		if line, inside := lineOfPanic(f); !strings.HasPrefix(line, "stack_test.go:2") || inside {
			t.Errorf("%s: got %q, inside %v, want a line of this file", name, line, inside)
		}
	}
}

// TestLine checks the results of Line for stacks of programs that use this module.
func TestLine(t *testing.T) {
	const (
		spin    = "main.spin(...)\n\t/home/a/spin.go:7\n"
		kernel  = "main.kernel(0x1, 0x2)\n\t/home/a/kernel.go:31 +0x3d\n"
		tl      = "github.com/kernbench/kernbench/tl.Ptr.Add(...)\n\t/go/kernbench/tl/ptr.go:9 +0x3\n"
		args    = "github.com/kernbench/kernbench/ccl.(*Args).Combine(0x1)\n\t/go/kernbench/ccl/args.go:5 +0x3\n"
		machine = "github.com/kernbench/kernbench/internal/cpu.(*Core).Run(0x1)\n\t/go/kernbench/internal/cpu/core.go:281 +0x106\n"
		pull    = "iter.Pull[...].func1()\n\t/usr/local/go/src/iter/iter.go:301 +0xe5\ncreated by iter.Pull[...] in goroutine 26\n\t/usr/local/go/src/iter/iter.go:271 +0x90"
		running = "goroutine 7 [running]:\n"
		panics  = "goroutine 7 [running]:\nruntime/debug.Stack()\n\t/usr/local/go/src/runtime/debug/stack.go:26 +0x5e\n" +
			"github.com/kernbench/kernbench/internal/sim.(*Engine).Go.func1.1()\n\t/go/kernbench/internal/sim/proc.go:71\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:783 +0x132\n"
	)
	for _, tt := range []struct {
		name, text, line string
		inside           bool
	}{
		{"a loop of Go code", running + spin + kernel + machine + pull, "spin.go:7", false},
		{"a loop of pointers", running + tl + kernel + machine + pull, "kernel.go:31", true},
		{"a loop of pointers, in what they call", running + strings.ReplaceAll(tl, "tl", "numeric") + tl + kernel + machine + pull, "kernel.go:31", true},
		{"a panic", panics + kernel + machine + pull, "kernel.go:31", false},
		{"a panic of the tile language", panics + tl + kernel + machine + pull, "kernel.go:31", true},
		{"a panic in what a collective calls", panics + args + kernel + machine + pull, "kernel.go:31", false},
		{"a panic in a built-in collective", panics + args + machine + pull, "args.go:5", false},
		{"a panic of the simulator alone", panics + machine + pull, "", true},
		{"nothing", "", "", false},
	} {
		if line, inside := Line(tt.text); line != tt.line || inside != tt.inside {
			t.Errorf("%s: got %q, inside %v, want %q, %v", tt.name, line, inside, tt.line, tt.inside)
		}
	}
}

// TestLoop checks that Loop returns the line of a loop with an empty body. Loop finds that
// line in the source of the function that contains the loop.
func TestLoop(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kernel.go")
	source := `package main

func kernel(n int) {
	n++
	for {
	}
}

func (k *kind) run(list []int) {
	func() {
		for range list {
			list[0]++
		}
		for {
		}
	}()
}

func two() {
	for {
	}
	for {
	}
}
`
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		function string
		line     int
		want     string
	}{
		{"main.kernel(...)", 4, "kernel.go:5"},
		{"main.kernel(0x1)", 1, "kernel.go:5"},
		{"example.com/m.(*kind).run.func1()", 9, "kernel.go:14"},
		{"example.com/m.(*kind).run.func1()", 12, "kernel.go:12"},
		{"main.two()", 18, "kernel.go:18"},
		{"main.other()", 3, "kernel.go:3"},
	} {
		text := fmt.Sprintf("goroutine 7 [running]:\n%s\n\t%s:%d +0x3d\n", tt.function, file, tt.line)
		if got := Loop(text); got != tt.want {
			t.Errorf("%s at line %d: got %s, want %s", tt.function, tt.line, got, tt.want)
		}
	}
	if got := Loop("goroutine 7 [running]:\nmain.kernel()\n\t/gone/kernel.go:4 +0x3d\n"); got != "kernel.go:4" {
		t.Errorf("without source: got %s, want kernel.go:4", got)
	}
}
