// Package examples_test builds and runs the examples. Each example is a separate module,
// like the program of a user.
package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/kernbench/kernbench" // the examples import it: a change of the module runs the tests again
)

var update = flag.Bool("update", false, "rewrite the outputs in the pages that say how to make the examples, and their pictures")

// build builds the module in a folder and returns the path of the program. It needs no
// network, because the modules that this test was built from are in the module cache.
func build(t *testing.T, dir string) (program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to build a program with")
	}
	program = filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(tool, "build", "-ldflags=-w", "-o", program, ".") // without information for debuggers
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s\nif requirements have changed, run go mod tidy in the examples' folders", dir, err, out)
	}
	return program
}

// progressLine matches the lines of progress that slow runs write to standard error.
var progressLine = regexp.MustCompile(`(?m)^\S+: \d+ of \d+ points.*\n`)

// run runs a program. It returns standard output and standard error together, without the
// lines that show progress, and the exit status.
func run(t *testing.T, program string, args ...string) (output string, status int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return progressLine.ReplaceAllString(out.String(), ""), cmd.ProcessState.ExitCode()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestOwnBench builds the example own-bench. It checks the output of its bench, its list of
// benches, and the error for a misspelled bench.
func TestOwnBench(t *testing.T) {
	read(t, "own-bench/main.go") // so that a change runs the test again
	program := build(t, "own-bench")
	out, status := run(t, program, "run", "ring_sum")
	if want := "values ok: 2048 elements compared in 1 check\n"; status != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("run ring_sum: exit status %d, want 0 and an end of %q:\n%s", status, want, out)
	}
	out, status = run(t, program, "run", "ring_sum", "--topology", "torus2x3", "--format", "json")
	var result struct {
		Bench   string
		OK      bool
		Metrics struct{ PEs int }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("run --format json: %v in\n%s", err, out)
	}
	if status != 0 || result.Bench != "ring_sum" || !result.OK || result.Metrics.PEs != 8 {
		t.Errorf("run --format json: exit status %d, %+v, want 0 and ring_sum, ok, of 8 PEs", status, result)
	}
	// The program also has the built-in benches and all commands.
	out, status = run(t, program, "list")
	for _, want := range []string{"ring_sum", "hello_send"} {
		if status != 0 || !strings.Contains(out, "\n"+want+" ") {
			t.Errorf("list: exit status %d, want 0 and %s in\n%s", status, want, out)
		}
	}
	if out, status = run(t, program, "run", "ring_sun"); status != 2 || !strings.Contains(out, "did you mean ring_sum?") {
		t.Errorf("run ring_sun: exit status %d, want 2 and a suggestion:\n%s", status, out)
	}
}

// change applies a diff to the text of a program and returns the result. It replaces the
// lines that begin with - in the diff by the lines that begin with +. The test fails unless
// the program contains the replaced lines exactly once.
func change(t *testing.T, program, diff string) string {
	t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		if text, ok := strings.CutPrefix(line, "-"); ok {
			before.WriteString(text)
		} else if text, ok := strings.CutPrefix(line, "+"); ok {
			after.WriteString(text)
		}
	}
	if n := strings.Count(program, before.String()); n != 1 {
		t.Fatalf("a diff changes lines that the program has %d times:\n%s", n, before.String())
	}
	return strings.Replace(program, before.String(), after.String(), 1)
}

// buildProgram builds a program from its source text, outside of the repository, and
// returns its path. `like` is the folder of an example; the program has the requirements of
// that example.
func buildProgram(t *testing.T, program, like string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), strings.Replace(read(t, like+"/go.mod"), "=> ../..", "=> "+root, 1))
	write(t, filepath.Join(dir, "go.sum"), read(t, like+"/go.sum"))
	write(t, filepath.Join(dir, "main.go"), program)
	return build(t, dir)
}

// goRun runs a built program and returns what `go run` would print for it, including the
// line with the exit status.
func goRun(t *testing.T, program string, args []string) string {
	t.Helper()
	out, status := run(t, program, args...)
	if status != 0 {
		out += "exit status " + strconv.Itoa(status) + "\n"
	}
	return out
}
