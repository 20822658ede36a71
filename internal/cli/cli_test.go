package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scripts")

// kernbench implements the script command `kernbench ARGS...`. It runs the command line and
// exits.
func kernbench() {
	setHost()
	os.Exit(Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// testCommands has the main functions of the commands that scripts can run, by name. The
// test program is also each of these commands.
var testCommands = map[string]func(){
	"kernbench": kernbench,
	"badbench": func() {
		registerBad()
		registerNear()
		kernbench()
	},
	"forge": forge,
}

// TestMain runs the tests. Tests also start this program as a rank, or as one of
// testCommands. In such a process, TestMain runs the rank or the command instead of the
// tests.
func TestMain(m *testing.M) {
	launch.Child()
	testscript.Main(m, testCommands)
}

// Environment variables that change the memory of the computer for commands of tests.
const (
	hostVariable  = "CLI_TEST_HOST"  // root folder with the files in which a kernel reports memory
	groupVariable = "CLI_TEST_GROUP" // control group to join
)

// setHost applies hostVariable and groupVariable. It changes the root folder of the files
// from which package host reads how much memory the computer has, and joins a control
// group.
func setHost() {
	if root := os.Getenv(hostVariable); root != "" {
		host.Pretend(root)
	}
	if group := os.Getenv(groupVariable); group != "" {
		if err := hosttest.Join(group); err != nil {
			panic(err)
		}
	}
}

// TestScripts runs the scripts in testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": checkStatus,
		},
	})
}

// checkStatus implements the script command `status N kernbench ARGS...`. It runs the
// command and checks that the exit status is N, which `! exec` cannot check.
func checkStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N kernbench ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		got = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit status of %v: got %s, want %s", args[1:], got, args[0])
	}
}

// run runs kernbench with arguments and returns its standard output. The test fails if the
// exit status is not 0.
func run(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Run(t.Context(), args, &out, &errs); code != exitOK {
		t.Fatalf("kernbench %s: exit status %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// decode decodes the JSON of a command into its documented type, and checks that encoding
// the value gives the same JSON.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := table.WriteJSON(&again, v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, again.String()); diff != "" {
		t.Errorf("JSON does not survive decoding (-got +again):\n%s", diff)
	}
	return v
}

// TestJSON checks the JSON output of several commands.
func TestJSON(t *testing.T) {
	var m struct {
		Version  string
		Topology topology.Origin
		Totals   describe.Totals
		Links    []map[string]any
	}
	text := run(t, "topology", "show", "--topology", "torus2x3", "--format", "json", "--links",
		"--set", "overrides=[{link: host->sip0.io.pcie, bandwidth: unlimited, latency: 1.5 ns}]")
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Topology.Source, "preset torus2x3"; !strings.HasPrefix(got, want) {
		t.Errorf("source: got %q, want it to begin with %q", got, want)
	}
	if m.Version != version.Version || m.Totals.PEs != 768 || m.Totals.Links != len(m.Links) {
		t.Errorf("got version %q, %d PEs and %d links, want %q, 768 and %d", m.Version, m.Totals.PEs, m.Totals.Links, version.Version, len(m.Links))
	}
	wantLink := map[string]any{"name": "host->sip0.io.pcie", "bandwidth_gbs": nil, "latency_ns": 1.5, "overhead_ns": 5.0}
	if diff := cmp.Diff(wantLink, m.Links[0]); diff != "" {
		t.Errorf("first link (-want +got):\n%s", diff)
	}
	list := decode[struct {
		Version string             `json:"version"`
		Systems []setup.Validation `json:"systems"`
	}](t, run(t, "topology", "validate", "--format", "json", "default", "ring6"))
	if s := list.Systems; list.Version != version.Version || len(s) != 2 || !s[0].OK || s[0].PEs != 256 || s[1].PEs != 768 {
		t.Errorf("validate: got %+v", list)
	}
	if d := decode[draw.Data](t, run(t, "topology", "diagram", "--format", "json")); d.Version != version.Version || len(d.Blocks) != 3 {
		t.Errorf("diagram: got version %q and %d blocks, want %q and 3", d.Version, len(d.Blocks), version.Version)
	}
	if ps := decode[describe.Presets](t, run(t, "topology", "presets", "--format", "json")); len(ps) != 6 {
		t.Errorf("presets: got %+v, want 6", ps)
	}
	if b := decode[version.Build](t, run(t, "version", "--format", "json")); b.Version != version.Version {
		t.Errorf("version: got %q, want %q", b.Version, version.Version)
	}
}

// TestUnknownFlags checks the errors for unknown flags. For an unknown letter, the error
// must say what the letter means in other commands. It must not suggest a flag of this
// command that begins with the letter.
func TestUnknownFlags(t *testing.T) {
	for line, want := range map[string]string{
		"comm verify x -t ring6":   "unknown shorthand flag: 't' in -t; -t is --topology of other commands\nsee kernbench comm verify --help\n",
		"comm run x -b 8":          "unknown shorthand flag: 'b' in -b; -b is --minbytes of kernbench coll\nsee kernbench comm run --help\n",
		"comm run x -q":            "unknown shorthand flag: 'q' in -q\nsee kernbench comm run --help\n",
		"comm verify x -p ring6":   "unknown shorthand flag: 'p' in -p\nsee kernbench comm verify --help\n",
		"comm verify x -d 0-1":     "unknown shorthand flag: 'd' in -d; -d is --dtype of kernbench coll\nsee kernbench comm verify --help\n",
		"comm run x --prset ring6": "unknown flag: --prset; did you mean --set?\nsee kernbench comm run --help\n",
		"comm run x --rund 2":      "unknown flag: --rund; did you mean --rounds?\nsee kernbench comm run --help\n",
	} {
		if code, _, stderr := command(t.Context(), strings.Fields(line)...); code != exitUsage || stderr != "kernbench: "+want {
			t.Errorf("%s: exit status %d and\n%swant %d and\nkernbench: %s", line, code, stderr, exitUsage, want)
		}
	}
}

// TestHelp checks that every command has a short and a long description and examples.
func TestHelp(t *testing.T) {
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: Short, Long and Example are all needed", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	root, _ := rootCmd()
	check(root)
}

// TestInterrupted checks that a command with a cancelled context ends with status 130.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	if code := Run(ctx, []string{"topology", "show", "--links"}, io.Discard, &errs); code != 130 {
		t.Errorf("exit status: got %d, want 130", code)
	}
	if got, want := errs.String(), "kernbench: interrupted\n"; got != want {
		t.Errorf("stderr: got %q, want %q", got, want)
	}
}

// TestSignals checks the exit status and the message of commands that a signal ends.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		stderr string
	}{
		{syscall.SIGINT, 130, "kernbench: interrupted\n"},
		{syscall.SIGTERM, 143, "kernbench: terminated\n"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(Signal{c.signal})
		for _, args := range [][]string{{"topology", "show", "--links"}, {"probe"}, {"run", "hello_send"}, {"coll", "all_reduce"}} {
			var errs bytes.Buffer
			if code := Run(ctx, args, io.Discard, &errs); code != c.code || errs.String() != c.stderr {
				t.Errorf("%v after %v: exit status %d, %q, want %d, %q", args, c.signal, code, errs.String(), c.code, c.stderr)
			}
		}
	}
}

// failing is a writer whose writes fail with err.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestOutputFails checks the exit status and the message of commands whose output cannot be
// written.
func TestOutputFails(t *testing.T) {
	tests := []struct {
		err    error
		code   int
		stderr string
	}{
		{syscall.EPIPE, 141, ""},
		{io.ErrClosedPipe, 141, ""},
		{syscall.ENOSPC, 3, "kernbench: write output: no space left on device\n"},
	}
	for _, args := range [][]string{{"topology", "show"}, {"topology", "show", "--links"}, {"topology", "diagram"}, {"run", "pe2pe"}, {"coll", "all_reduce"}, {"coll", "barrier", "--format", "csv"}, {"ccl", "show"}, {"list"}, {"version"}, {"--help"}} {
		for _, tt := range tests {
			var errs bytes.Buffer
			code := Run(t.Context(), args, failing{tt.err}, &errs)
			if code != tt.code || errs.String() != tt.stderr {
				t.Errorf("%v into %v: got status %d and %q, want %d and %q", args, tt.err, code, errs.String(), tt.code, tt.stderr)
			}
		}
	}
}

// TestBrokenFiles runs topology show with every invalid file in the test data of package
// topology. It checks that the exit status is 2, that standard error has file:line:column,
// and that standard output is empty.
func TestBrokenFiles(t *testing.T) {
	t.Chdir("../../topology/testdata/bad")
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Fatalf("%d broken files, want at least 40", len(files))
	}
	for _, file := range files {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), []string{"topology", "show", "--topology", file}, &out, &errs); code != exitUsage {
			t.Errorf("%s: exit status %d, want %d", file, code, exitUsage)
		}
		if out.Len() > 0 {
			t.Errorf("%s: prints %q on standard output", file, out.String())
		}
		if place := regexp.MustCompile(`(?m)^[\w./-]+\.yaml:\d+:\d+: \S`); !place.MatchString(errs.String()) {
			t.Errorf("%s: no file:line:column in\n%s", file, errs.String())
		}
	}
}
