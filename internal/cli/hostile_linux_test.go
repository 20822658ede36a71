package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/internal/version"
)

// readers lists the commands that read a file.
var readers = []struct {
	args, file string // the command line, and the file that it reads
	before     string // a command line that creates the other files; "" for none
	begins     bool   // the command accepts a file that ends within its first line, and starts the file again
}{
	{"topology validate x.yaml", "x.yaml", "", false},
	{"run hello_send --topology x.yaml", "x.yaml", "", false},
	{"ccl validate x.yaml", "x.yaml", "", false},
	{"tasks validate x.yaml", "x.yaml", "", false},
	{"comm show x.yaml", "x.yaml", "", false},
	{"run x.yaml", "x.yaml", "", false},
	{"sweep x.yaml --dry-run", "x.yaml", "", false},
	{"sweep small.yaml --resume --out x.jsonl", "x.jsonl", "", true},
	{"merge out.jsonl x.jsonl", "x.jsonl", "", false},
	{"merge x.jsonl good.jsonl", "x.jsonl", "sweep small.yaml --out good.jsonl", true},
	{"plot x.csv -x a -y b -o p.svg", "x.csv", "", false},
	{"plot x.json -x a -y b -o p.svg", "x.json", "", false},
	{"plot x.jsonl -x a -y b -o p.svg", "x.jsonl", "", false},
	{"compare x.csv x.csv", "x.csv", "", false},
	{"compare x.json x.json", "x.json", "", false},
	{"replay x.oplog", "x.oplog", "", false},
	{"trace x.trace", "x.trace", "", false},
	{"trace x.trace.gz", "x.trace.gz", "", false},
	{"comm verify d", "d/run.json", "comm prepare all_reduce d --nranks 2", false},
	{"comm verify d", "d/scenario.yaml", "comm prepare all_reduce d --nranks 2", false},
	{"comm execute d --backend sim", "d/round0/rank0/x.in.npy", "comm prepare all_reduce d --nranks 2", false},
	{"run milestone-1h-ccl --max-elems 128 --resume --out d", "d/points.jsonl", "", true},
}

// hostileFiles lists what may be under a name instead of the expected file.
var hostileFiles = []struct {
	name string
	make func(path string) error
}{
	{"FIFO", func(path string) error { return syscall.Mkfifo(path, 0o666) }},
	{"endless device", func(path string) error { return os.Symlink("/dev/zero", path) }},
	{"sparse file", func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 1<<40)) }},
	{"smaller sparse file", func(path string) error {
		return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 200<<20))
	}},
	{"folder", func(path string) error { return os.Mkdir(path, 0o777) }},
	{"no permission", func(path string) error { return os.WriteFile(path, []byte("{}"), 0o000) }},
	{"truncated", func(path string) error { return os.WriteFile(path, []byte(`{"sweep":{"iden`), 0o666) }},
	{"one line of 64 MiB", func(path string) error {
		return os.WriteFile(path, bytes.Repeat([]byte(`{"sweep":`), 64<<20/9), 0o666)
	}},
	{"blanks", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte(" "), 64<<20), 0o666) }},
}

// TestHostileFiles checks that every command in readers refuses every file in hostileFiles,
// without reading the file forever or keeping it in memory. Commands whose field `begins`
// is set accept a truncated file and start it again.
func TestHostileFiles(t *testing.T) {
	if _, err := version.Program(); err != nil { // while this thread may still read the program's file
		t.Fatal(err)
	}
	for _, r := range readers {
		for _, h := range hostileFiles {
			t.Run(strings.Fields(r.args)[0]+" "+r.file+" "+h.name, func(t *testing.T) {
				t.Chdir(t.TempDir())
				if err := os.WriteFile("small.yaml", []byte(small), 0o666); err != nil {
					t.Fatal(err)
				}
				if r.before != "" {
					run(t, strings.Fields(r.before)...)
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(r.file), 0o777), os.RemoveAll(r.file), h.make(r.file)); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				runReader := func() int { return Run(t.Context(), strings.Fields(r.args), &out, &errs) }
				var code int
				if h.name == "no permission" {
					code = asNobody(t, runReader)
				} else {
					code = runReader()
				}
				runtime.ReadMemStats(&after)
				want := exitUsage
				if h.name == "truncated" && r.begins {
					want = exitOK
				}
				if code != want || code != exitOK && errs.Len() == 0 {
					t.Errorf("kernbench %s: exit status %d, want %d\n%s%s", r.args, code, want, out.String(), errs.String())
				}
				if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
					t.Errorf("kernbench %s: %d MiB were allocated", r.args, n>>20)
				}
			})
		}
	}
}

// asNobody calls f in a thread that may not read all files, even if the test runs as root.
// It returns the result of f.
func asNobody(t *testing.T, f func() int) int {
	if os.Geteuid() != 0 {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer unix.Setfsuid(0)
	return f()
}

// TestInterruptedPipes checks that a command that waits for data from a pipe ends when it
// is interrupted.
func TestInterruptedPipes(t *testing.T) {
	for _, r := range readers {
		if strings.HasPrefix(r.args, "sweep small") || strings.HasPrefix(r.args, "merge x") {
			continue // results are written only to regular files
		}
		t.Run(strings.Fields(r.args)[0]+" "+r.file, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if r.before != "" {
				run(t, strings.Fields(r.before)...)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(r.file), 0o777), os.RemoveAll(r.file), syscall.Mkfifo(r.file, 0o666)); err != nil {
				t.Fatal(err)
			}
			writer, err := os.OpenFile(r.file, os.O_RDWR, 0) // both ends, so that opening does not wait for the other end
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan int)
			go func() {
				var out, errs bytes.Buffer
				ended <- Run(ctx, strings.Fields(r.args), &out, &errs)
			}()
			cancel(Signal{syscall.SIGINT})
			if code := <-ended; code != exitInterrupted {
				t.Errorf("kernbench %s: exit status %d, want %d", r.args, code, exitInterrupted)
			}
		})
	}
}
