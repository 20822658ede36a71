package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// guarded ends a run that hangs, long after it should have ended.
func guarded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("the test's guard"))
	t.Cleanup(cancel)
	return ctx
}

// checkError compares the first line of an error, and its RankError.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", want)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if first != want {
		t.Errorf("first of the error\n%v\nis %q\nwant  %q", err, first, want)
	}
	var rank *RankError
	if !errors.As(err, &rank) {
		t.Errorf("error %v has no *RankError", err)
	} else if prefix := fmt.Sprintf("rank %d: ", rank.Rank); !strings.HasPrefix(rank.Error(), prefix) {
		t.Errorf("*RankError %q, want it to begin with %q", rank, prefix)
	}
}

// TestFaults has one rank do something bad while the others pass barriers.
func TestFaults(t *testing.T) {
	const shm, inproc = "shm", "inproc"
	tests := []struct {
		backend, how, rest string
		want               string // first line of the error
		output             string // some of it
		follow             string // some of its second line
	}{
		{shm, "exit 0", "", "rank 2: job fault: exited with status 0 before its job returned", "", ": barrier"},
		{shm, "exit 7", "", "rank 2: job fault: exited with status 7 before its job returned", "", ": barrier"},
		{shm, "panic", "", "rank 2: job fault: panic: no such thing", "rank 2: panic: no such thing\nrank 2: \nrank 2: goroutine ", ": barrier"},
		{inproc, "panic", "", "rank 2: job fault: panic: no such thing", "rank 2: panic: no such thing\nrank 2: \nrank 2: goroutine ", ": barrier"},
		{shm, "crash", "", "rank 2: job fault: exited with status 2 before its job returned: its output may have the reason", "rank 2: panic: elsewhere\n", ": barrier"},
		{shm, "error", "", "rank 2: job fault: disk full", "", ": barrier"},
		{inproc, "error", "", "rank 2: job fault: disk full", "", ": barrier"},
		{shm, "closed error", "", "rank 2: job fault: disk full", "", ": barrier"},
		{inproc, "closed error", "", "rank 2: job fault: disk full", "", ": barrier"},
		{shm, "goexit", "", "rank 2: job fault: it ended its goroutine instead of returning", "", ": barrier"},
		{inproc, "goexit", "", "rank 2: job fault: it ended its goroutine instead of returning", "", ": barrier"},
		{shm, "error", "wait", "rank 2: job fault: disk full", "", ": window, "},
		{shm, "error", "sleep", "rank 2: job fault: disk full", "", ": job fault: killed by SIGKILL: it did not stop in 500ms"},
		{shm, "error", "spin", "rank 2: job fault: disk full", "", ": job fault: killed by SIGKILL: it did not stop in 500ms"},
		{shm, "error", "context", "rank 2: job fault: disk full", "", ": job fault: context canceled"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s/%s", tt.backend, tt.how, tt.rest), func(t *testing.T) {
			leavesNothing(t)
			var b bytes.Buffer
			got, err := Run(guarded(t), Options{Backend: tt.backend, Ranks: 4, Output: &b}, "fault", trouble{Rank: 2, How: tt.how, Rest: tt.rest}.arg(t))
			if got != nil {
				t.Errorf("results %q, want none", got)
			}
			checkError(t, err, tt.want)
			if !strings.Contains(b.String(), tt.output) {
				t.Errorf("output %q, want %q in it", b.String(), tt.output)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 || !strings.Contains(lines[1], tt.follow) {
				t.Errorf("error\n%v\nwant 3 lines, %q in the second", err, tt.follow)
			}
		})
	}
}

// TestReturnedPeer has a rank return while others count on it.
func TestReturnedPeer(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		for _, tt := range []struct{ rest, want string }{
			{"", "rank 1: barrier, rank 0: it has been closed by that rank"},
			{"return", ""},
		} {
			t.Run(backend+"/"+tt.rest, func(t *testing.T) {
				leavesNothing(t)
				_, err := Run(guarded(t), Options{Backend: backend, Ranks: 2, Output: t.Output()}, "fault", trouble{How: "return", Rest: tt.rest}.arg(t))
				if tt.want == "" && err == nil {
					return
				}
				checkError(t, err, tt.want)
			})
		}
	}
}

// TestKill kills a rank at a random point of a loop of barriers.
func TestKill(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		ranks := 2 + random.IntN(4)
		f := trouble{Rank: random.IntN(ranks), How: "kill", After: time.Duration(random.Int64N(int64(30 * time.Millisecond)))}
		t.Run(fmt.Sprintf("%d: rank %d of %d after %v", i, f.Rank, ranks, f.After), func(t *testing.T) {
			leavesNothing(t)
			_, err := Run(guarded(t), Options{Ranks: ranks, Output: t.Output()}, "fault", f.arg(t))
			checkError(t, err, fmt.Sprintf("rank %d: job fault: killed by SIGKILL", f.Rank))
			_, follow, _ := strings.Cut(err.Error(), "\n")
			if culprit := fmt.Sprintf("rank %d: ", f.Rank); !strings.Contains(follow, ": barrier") || !strings.Contains(follow, culprit) {
				t.Errorf("error\n%v\nwant that others failed at a barrier because of %s", err, culprit)
			}
		})
	}
}

// TestTimeout has ranks wait for one that does not come.
func TestTimeout(t *testing.T) {
	leavesNothing(t)
	_, err := Run(guarded(t), Options{Ranks: 2, Timeout: 400 * time.Millisecond, Output: t.Output()}, "fault", trouble{Rank: 0, How: "sleep"}.arg(t))
	checkError(t, err, "rank 1: barrier, rank 0: the deadline has passed: nothing in 400ms")
}

// TestManyFollow tells of one of the ranks that fail because of another.
func TestManyFollow(t *testing.T) {
	leavesNothing(t)
	_, err := Run(guarded(t), Options{Ranks: 16, Output: t.Output()}, "fault", trouble{Rank: 3, How: "error"}.arg(t))
	checkError(t, err, "rank 3: job fault: disk full")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], ": barrier") || !strings.Contains(lines[1], "rank 3: ") || !strings.HasSuffix(lines[2], " failed in consequence") {
		t.Errorf("error\n%v\nwant the rank that failed, one that followed, and the numbers of the others", err)
	}
}

// whenBegun calls a function when so many ranks of job fault have begun.
type whenBegun struct {
	ranks int
	do    func()
}

func (w *whenBegun) Write(b []byte) (int, error) {
	if bytes.HasSuffix(b, []byte(": begun\n")) {
		if w.ranks--; w.ranks == 0 {
			w.do()
		}
	}
	return len(b), nil
}

// TestCancel ends the context while ranks do something that takes longer.
func TestCancel(t *testing.T) {
	tests := []struct {
		how  string
		want string // some of the second line
	}{
		{"", ": barrier"},
		{"wait", ": wait, signal 0"},
		{"spin", ": job fault: killed by SIGKILL: it did not stop in 500ms"},
		{"sleep", ": job fault: killed by SIGKILL: it did not stop in 500ms"},
		{"context", ": job fault: context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			leavesNothing(t)
			ctx, cancel := context.WithCancelCause(guarded(t))
			defer cancel(nil)
			enough := errors.New("enough")
			begun := &whenBegun{3, func() { cancel(enough) }}
			got, err := Run(ctx, Options{Ranks: 3, Output: begun}, "fault", trouble{Rank: -1, How: tt.how}.arg(t))
			checkError(t, err, "the run was stopped: enough")
			if got != nil || !errors.Is(err, enough) {
				t.Errorf("results %q, error %v; want none, an error that is %q", got, err, enough)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 3 || !strings.Contains(lines[1], tt.want) || !strings.HasSuffix(lines[2], " failed in consequence") {
				t.Errorf("error\n%v\nwant 3 lines, %q in the second", err, tt.want)
			}
		})
	}
}

// TestCancelOwnErrors has all ranks fail by themselves: not all are told of.
func TestCancelOwnErrors(t *testing.T) {
	leavesNothing(t)
	ctx, cancel := context.WithCancel(guarded(t))
	defer cancel()
	_, err := Run(ctx, Options{Ranks: 8, Output: &whenBegun{8, cancel}}, "fault", trouble{Rank: -1, How: "own error"}.arg(t))
	checkError(t, err, "the run was stopped: context canceled")
	if got := strings.Count(err.Error(), ": job fault: half a file is left"); got != shown+1 {
		t.Errorf("error\n%v\ntells of %d ranks, want %d", err, got, shown+1)
	}
}

// TestCancelEarly ends the context while ranks are being started.
func TestCancelEarly(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", backend, after), func(t *testing.T) {
				leavesNothing(t)
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				got, err := Run(ctx, Options{Backend: backend, Ranks: 4, Output: t.Output()}, "fault", trouble{}.arg(t))
				if got != nil || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("results %q, error %v; want none, an error that is %v", got, err, context.DeadlineExceeded)
				}
			})
		}
	}
}

// TestStubbornGoroutine has one that cannot be stopped.
func TestStubbornGoroutine(t *testing.T) {
	release := make(chan struct{})
	stubborn.Store(&release)
	leavesNothing(t)
	defer close(release)
	_, err := Run(guarded(t), Options{Backend: "inproc", Ranks: 2}, "fault", trouble{How: "error", Rest: "stubborn"}.arg(t))
	checkError(t, err, "rank 0: job fault: disk full")
	if want := "\nrank 1: job fault: left running, since a goroutine cannot be killed: it did not stop in 500ms"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %q, want %q at its end", err, want)
	}
}

// TestNeverStarts has ranks that do not get as far as Child, or are no program.
func TestNeverStarts(t *testing.T) {
	t.Run("hangs", func(t *testing.T) {
		leavesNothing(t)
		t.Setenv(stillbornRank, "1")
		_, err := Run(guarded(t), Options{Ranks: 3, Timeout: 300 * time.Millisecond, Output: t.Output()}, "echo", nil)
		checkError(t, err, "rank 1: start: killed by SIGKILL: nothing heard of it in 300ms; main has to call launch.Child before anything else")
		if want := ": open, hello, rank "; !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	})
	t.Run("no program", func(t *testing.T) {
		leavesNothing(t)
		program = "/nowhere"
		defer func() { program = "/proc/self/exe" }()
		_, err := Run(guarded(t), Options{Ranks: 3, Output: t.Output()}, "echo", nil)
		checkError(t, err, "rank 0: start: fork/exec /nowhere: no such file or directory")
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want one that is %v", err, os.ErrNotExist)
		}
	})
}
