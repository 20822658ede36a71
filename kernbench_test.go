package kernbench_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernbench/kernbench"
)

// mainVariable is the environment variable that makes the test program run kernbench
// instead of tests.
const mainVariable = "KERNBENCH_TEST_MAIN"

// TestMain runs the tests, or kernbench if mainVariable is set.
func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		kernbench.Main()
	}
	os.Exit(m.Run())
}

// TestRun checks the exit status and the output of Run with the argument --version.
func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	if code := kernbench.Run(t.Context(), []string{"--version"}, &out, &errs); code != 0 {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	if got, want := out.String(), "kernbench "+kernbench.Version+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOwnProgram builds and runs a program outside of the repository that calls Main.
func TestOwnProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to build a program with")
	}
	repo, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("go.sum", read("go.sum"))
	// The go.mod has the requirements of kernbench, so that the build needs no other
	// modules than the build of kernbench.
	const module = "github.com/kernbench/kernbench"
	write("go.mod", strings.Replace(read("go.mod"), "module "+module, "module example.com/mine", 1)+
		"\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+repo+"\n")
	write("main.go", "package main\n\nimport \"github.com/kernbench/kernbench\"\n\nfunc main() { kernbench.Main() }\n")
	program := filepath.Join(dir, "mine")
	build := exec.Command(goTool, "build", "-o", program, ".")
	build.Dir = dir
	// The modules of this test are in the module cache, so that the build needs no network.
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	if want := "kernbench " + kernbench.Version + "\n"; !strings.HasPrefix(string(out), want) {
		t.Errorf("got %q, want it to begin with %q", out, want)
	}
	if want := "program   example.com/mine\n"; !strings.Contains(string(out), want) {
		t.Errorf("got %q, want it to contain %q", out, want)
	}
	if err := exec.Command(program, "frobnicate").Run(); err == nil || err.Error() != "exit status 2" {
		t.Errorf("unknown command: got %v, want exit status 2", err)
	}
}
