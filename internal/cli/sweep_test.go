package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fast is the file of a sweep with 200 points that take a millisecond each.
const fast = `bench: task_chain
data: off
params: {runtime: tensormap_and_ringbuffer}
grid:
  - {key: params.count, from: 1, to: 20, step: 1}
  - {key: params.tile, from: 1, to: 512, times: 2}
`

// TestSweepSurvivesKills kills a sweep five times, each time when its file has reached a
// random size, and then lets it finish. It checks that no line is lost, and that the
// finished file equals the file of a sweep without interruption.
func TestSweepSurvivesKills(t *testing.T) {
	collectives, err := os.ReadFile("testdata/sweep/coll.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text string
		points     int
	}{{"tasks", fast, 200}, {"collectives", string(collectives), 60}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("killed.yaml", []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			run(t, "sweep", "killed.yaml", "--out", "whole.jsonl")
			whole := wholeLines(t, "whole.jsonl")
			if len(whole) != tt.points+1 {
				t.Fatalf("%d lines, want a header and %d points", len(whole), tt.points)
			}
			random := rand.New(rand.NewPCG(9, 9))
			size := len(strings.Join(whole, ""))
			for kill := range 5 {
				before := wholeLines(t, "killed.jsonl")
				killAt(t, random.IntN(size/5)+kill*size/5)
				after := wholeLines(t, "killed.jsonl")
				for _, line := range before { // in any order: the sweep may have sorted the lines
					if !slices.Contains(after, line) {
						t.Fatalf("kill %d: of %d lines, this is not among the %d there are now: %s", kill, len(before), len(after), line)
					}
				}
				t.Logf("kill %d: %d points before, %d after", kill, max(len(before)-1, 0), max(len(after)-1, 0))
			}
			run(t, "sweep", "killed.yaml", "--resume")
			if diff := cmp.Diff(whole, wholeLines(t, "killed.jsonl")); diff != "" {
				t.Errorf("(-whole +killed):\n%s", diff)
			}
		})
	}
}

// killAt continues the sweep with --resume and kills it when its file has a size of at
// least `size` bytes. It does not kill a sweep that ends earlier.
func killAt(t *testing.T, size int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd := exec.Command(self, "sweep", "killed.yaml", "--resume")
	cmd.Args[0] = "kernbench" // TestMain chooses the command by this name
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for ticker := time.NewTicker(50 * time.Microsecond); ; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
				t.Fatalf("the sweep ended with %v\n%s", err, errs.String())
			}
			return
		case <-ticker.C:
			if info, err := os.Stat("killed.jsonl"); err == nil && info.Size() >= int64(size) {
				ticker.Stop()
				if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
		}
	}
}

// wholeLines returns the lines of a file that end with a newline, or none if there is no
// file.
func wholeLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	all := strings.SplitAfter(string(text), "\n")
	return all[:len(all)-1]
}

// TestSweepInterrupted checks that a sweep that is interrupted with Ctrl-C keeps the
// finished points and prints how to continue. The test also interrupts a sweep that is
// still checking its points and has run none of them. The file must not change.
func TestSweepInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	const points = 20 * 512 // more than can finish before the interruption
	long := strings.Replace(fast, "times: 2", "step: 1", 1)
	if err := os.WriteFile("long.yaml", []byte(long), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context) string {
		var errs bytes.Buffer
		code := Run(ctx, []string{"sweep", "long.yaml"}, io.Discard, &errs)
		return fmt.Sprint(code, " ", errs.String())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	output := make(chan string)
	go func() { output <- run(ctx) }()
	for ticker := time.NewTicker(50 * time.Microsecond); len(wholeLines(t, "long.jsonl")) == 0; {
		select {
		case text := <-output:
			t.Fatalf("the sweep ended before it began: %s", text)
		case <-ticker.C:
		}
	}
	cancel(Signal{syscall.SIGINT})
	if got, want := <-output, "130 kernbench: points that have ended are in long.jsonl: continue with --resume\nkernbench: interrupted\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	before := wholeLines(t, "long.jsonl")
	if len(before) > points {
		t.Errorf("the file has all %d points, want some", points)
	}
	if got, want := run(ctx), "130 kernbench: interrupted\n"; got != want {
		t.Errorf("while points are checked: got %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, wholeLines(t, "long.jsonl")); diff != "" {
		t.Errorf("while points are checked the file has changed (-before +after):\n%s", diff)
	}
}

// TestSweepPage checks that docs/use/sweeps.md shows the files in testdata/sweep, which
// other tests run.
func TestSweepPage(t *testing.T) {
	const page = "../../docs/use/sweeps.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"testdata/sweep/all_reduce.yaml", "testdata/sweep/coll.yaml"} {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```yaml\n"+string(want)+"```") {
			t.Errorf("%s does not show %s", page, file)
		}
	}
}
