package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/memory"
)

// createExitFixtures creates the files that the command lines below name, in a new current
// folder.
func createExitFixtures(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{
		"sweep.yaml": "bench: hello_send\ndata: off\ngrid:\n  - {key: topology, values: [default, ring6]}\n",
		"large.yaml": "summary: \"s\"\nnranks: 2\nbuffers:\n" +
			"  - {name: x, dtype: f32, shape: [16777216, 4096], placement: window, init: 0}\n" +
			"kernel: {name: all_reduce_onephase, args: [x, x, 1]}\noutputs:\n  - {buffer: x, golden: 0}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"sweep sweep.yaml", "sweep sweep.yaml --shard 1/2", "sweep sweep.yaml --shard 2/2",
		"run hello_send --trace hello.json --log hello.oplog",
		"comm prepare all_reduce prepared",
		"comm run all_reduce --backend inproc --keep kept",
		"comm run all_reduce --backend inproc --keep broken",
	} {
		run(t, strings.Fields(line)...)
	}
	if err := os.Remove("broken/round0/rank1/x.in.npy"); err != nil {
		t.Fatal(err)
	}
}

// Command lines that end with status 0 after createExitFixtures, at least one for each
// command.
var (
	longLines = []string{ // commands that may run long and that signals end
		"coll barrier", "coll all_reduce --on shm -e 8 -n 1 -w 0", "comm execute kept --backend inproc", "comm prepare all_reduce new", "comm run all_reduce --backend inproc", "comm show all_reduce",
		"comm verify kept", "probe", "run hello_send", "sweep sweep.yaml --replace", "topology show --links", "trace hello.json",
	}
	shortLines = []string{
		"ccl show", "ccl schema", "ccl validate", "comm list", "compare sweep.jsonl sweep.jsonl", "list", "merge merged.jsonl sweep.1-of-2.jsonl sweep.2-of-2.jsonl",
		"plot sweep.jsonl -x topology -y crit_ns --kind bars -o plot.svg", "replay hello.oplog", "tasks show", "tasks schema", "tasks validate",
		"topology diagram", "topology presets", "topology schema", "topology validate default", "version", "help run", "completion bash",
	}
)

// TestExitStatus checks that a kind of failure, such as a missing file, has the same exit
// status in all commands that can fail in this way.
func TestExitStatus(t *testing.T) {
	registerScenarios()
	createExitFixtures(t)
	for _, kind := range []struct {
		name  string
		code  int
		lines []string
	}{
		{"wrong values or a race", exitWrong, []string{
			"comm run races --backend sim --check race", "compare sweep.jsonl sweep.1-of-2.jsonl",
		}},
		{"a missing file", exitUsage, []string{
			"ccl show --ccl none.yaml", "ccl validate none.yaml", "coll barrier --ccl none.yaml", "coll barrier -t none.yaml", "comm execute none", "comm run none.yaml", "comm run all_reduce --backend sim -t none.yaml",
			"comm prepare none.yaml new", "comm show none.yaml", "comm verify none", "compare none.csv none.csv", "merge m.jsonl none.jsonl", "plot none.csv -x a -y b -o p.svg", "probe -t none.yaml",
			"replay none", "run hello_send -t none.yaml", "run none.yaml", "sweep none.yaml", "tasks show --tasks none.yaml", "topology show -t none.yaml", "topology validate none.yaml", "trace none.json",
			"comm execute broken", "comm execute broken --backend inproc", "comm execute broken --backend sim",
		}},
		{"a folder that is missing", exitUsage, []string{
			"coll barrier --trace no/t.json", "comm run all_reduce --backend sim --runtime host_build_graph --gantt-svg no/g.svg", "merge no/m.jsonl sweep.1-of-2.jsonl sweep.2-of-2.jsonl",
			"plot sweep.jsonl -x topology -y crit_ns --kind bars -o no/p.svg", "run hello_send --trace no/t.json", "run hello_send --log no/l", "sweep sweep.yaml --out no/s.jsonl",
			"topology diagram -o no/d.svg", "run milestone-1h-ccl --max-elems 128 --data=off --out /proc/no", "comm prepare all_reduce /proc/no", "comm run all_reduce --keep /proc/no",
		}},
		{"a folder instead of a file", exitUsage, []string{
			"coll barrier --trace folder", "run hello_send --trace folder", "run hello_send --log folder", "topology diagram -o folder", "comm run all_reduce --backend sim --runtime host_build_graph --gantt-svg folder",
			"replay folder", "trace folder", "topology show -t folder",
		}},
		{"sizes beyond memory", exitUsage, []string{
			"coll all_reduce -b 128G -e 128G", "coll all_reduce -b 128G -e 128G --on shm", "coll all_reduce -b 128G -e 128G --on inproc", "coll all_reduce -b 128G -e 128G --data off",
			"comm run large.yaml", "comm run large.yaml --backend inproc", "comm run large.yaml --backend sim",
		}},
		{"a time that has passed", exitFailed, []string{
			"coll all_reduce --timeout 1ns", "coll all_reduce --timeout 1ns --on shm", "coll all_reduce --timeout 1ns --on inproc",
			"comm run all_reduce --timeout 1ns", "comm run all_reduce --timeout 1ns --backend inproc", "comm run all_reduce --timeout 1ns --backend sim", "comm execute kept --timeout 1ns",
		}},
		{"a link to a full device", exitFailed, []string{
			"coll barrier --trace full", "run hello_send --trace full", "run hello_send --log full", "topology diagram -o full.svg",
			"plot sweep.jsonl -x topology -y crit_ns --kind bars -o full.svg", "comm run all_reduce --backend sim --runtime host_build_graph --gantt-svg full.svg",
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if kind.code == exitFailed {
				for _, name := range []string{"full", "full.svg"} {
					if err := os.Symlink("/dev/full", name); err != nil && !errors.Is(err, fs.ErrExist) {
						t.Fatal(err)
					}
				}
			}
			for _, line := range kind.lines {
				if code, _, stderr := command(t.Context(), strings.Fields(line)...); code != kind.code {
					t.Errorf("%s: exit status %d, want %d\n%s", line, code, kind.code, stderr)
				}
			}
		})
	}
}

// TestExitStatusOfAll checks the exit statuses of failures that every command can have: an
// unknown flag, a signal, and output that cannot be written. It also checks that every
// command is in longLines or shortLines, the command lines that the test runs.
func TestExitStatusOfAll(t *testing.T) {
	createExitFixtures(t)
	root, _ := rootCmd()
	addBuiltins(root)
	var leaves func(*cobra.Command)
	leaves = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			leaves(sub)
		}
		if name := c.Name(); c.HasSubCommands() || c.Hidden || c.Parent().Name() == "completion" && name != "bash" {
			return
		}
		line := strings.TrimPrefix(c.CommandPath(), "kernbench ")
		if code, _, _ := command(t.Context(), append(strings.Fields(line), "--no-such-flag")...); code != exitUsage {
			t.Errorf("%s --no-such-flag: exit status %d, want %d", line, code, exitUsage)
		}
		for _, working := range slices.Concat(longLines, shortLines) {
			if working == line || strings.HasPrefix(working, line+" ") {
				return
			}
		}
		t.Errorf("%s: in neither longLines nor shortLines", line)
	}
	leaves(root)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(Signal{s})
		for _, line := range longLines {
			if code, _, stderr := command(ctx, strings.Fields(line)...); code != 128+int(s) {
				t.Errorf("%s after %v: exit status %d, want %d\n%s", line, s, code, 128+int(s), stderr)
			}
		}
	}
	for _, line := range slices.Concat(longLines, shortLines) {
		args := strings.Fields(line)
		for err, want := range map[error]int{syscall.ENOSPC: exitFailed, syscall.EIO: exitFailed, syscall.EPIPE: exitClosedPipe} {
			if err := os.RemoveAll("new"); err != nil {
				t.Fatal(err)
			}
			if code := Run(t.Context(), args, failing{err}, io.Discard); code != want {
				t.Errorf("%s, output fails by %v: exit status %d, want %d", line, err, code, want)
			}
		}
	}
}

// TestStatus checks that the cause of an error determines the exit status, even if other
// errors wrap the cause.
func TestStatus(t *testing.T) {
	path := func(err error) error { return &fs.PathError{Op: "open", Path: "x", Err: err} }
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("it"), exitFailed},
		{badInput(errors.New("it")), exitUsage},
		{&exitError{exitWrong, nil}, exitWrong},
		{badInput(fmt.Errorf("--out: %w", path(syscall.ENOSPC))), exitFailed},
		{badInput(path(syscall.EDQUOT)), exitFailed},
		{path(syscall.EIO), exitFailed},
		{path(syscall.ENOENT), exitUsage},
		{path(syscall.EACCES), exitUsage},
		{path(syscall.EROFS), exitUsage},
		{&os.LinkError{Op: "rename", Err: syscall.EISDIR}, exitUsage},
		{syscall.EPERM, exitFailed}, // not an error with a file
		{fmt.Errorf("x: %w", &memory.OutOfMemory{}), exitUsage},
		{&exitError{exitFailed, &memory.OutOfMemory{}}, exitFailed},
		{fmt.Errorf("x: %w", syscall.EPIPE), exitClosedPipe},
	} {
		if got := status(context.Background(), tt.err); got != tt.want {
			t.Errorf("%v: exit status %d, want %d", tt.err, got, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Signal{syscall.SIGTERM})
	for _, err := range []error{errors.New("rank 0: killed by SIGTERM"), badInput(errors.New("it")), syscall.EPIPE, context.Canceled} {
		if got := status(ctx, err); got != exitTerminated {
			t.Errorf("%v after SIGTERM: exit status %d, want %d", err, got, exitTerminated)
		}
	}
}
