//go:build linux

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

// withDeadline returns a context that ends after 10 s, so that a run that hangs fails the
// test.
func withDeadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("the test's guard"))
	t.Cleanup(cancel)
	return ctx
}

// checkError checks that the text of err is want, and that err wraps the *RankError of the
// given rank.
func checkError(t *testing.T, err error, rank int, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Fatalf("error\n%v\nwant\n%s", err, want)
	}
	var failed *RankError
	if !errors.As(err, &failed) || failed.Rank != rank {
		t.Errorf("error %v has *RankError %v, want that of rank %d", err, failed, rank)
	}
}

// TestFaults lets rank 2 fail in different ways while the other ranks are busy or waiting.
// It checks the error and the output of the run.
func TestFaults(t *testing.T) {
	const shm, inproc = "shm", "inproc"
	const (
		panics = "rank 2: panic: no such thing\nrank 2: \nrank 2: goroutine "
		stuck  = "ranks 0, 1 and 3: did not stop in 500ms: killed by SIGKILL"
		follow = "ranks 0, 1 and 3 failed in consequence"
	)
	tests := []struct {
		backend, how, rest string
		want               string // first line of the error
		output             string // part of the output
		then               string // second line of the error
	}{
		{shm, "exit 0", "", "rank 2: exited with status 0 before its job returned", "", follow},
		{shm, "exit 7", "", "rank 2: exited with status 7 before its job returned", "", follow},
		{shm, "panic", "", "rank 2: panic: no such thing", panics, follow},
		{inproc, "panic", "", "rank 2: panic: no such thing", panics, follow},
		{shm, "crash", "", "rank 2: exited with status 2 before its job returned: its output may have the reason", "rank 2: panic: elsewhere\n", follow},
		{shm, "error", "", "rank 2: disk full", "", follow},
		{inproc, "error", "", "rank 2: disk full", "", follow},
		{shm, "closed error", "", "rank 2: disk full", "", follow},
		{inproc, "closed error", "", "rank 2: disk full", "", follow},
		{shm, "goexit", "", "rank 2: it ended its goroutine instead of returning", "", follow},
		{inproc, "goexit", "", "rank 2: it ended its goroutine instead of returning", "", follow},
		{shm, "error", "wait", "rank 2: disk full", "", follow},
		{shm, "error", "unwrapped", "rank 2: disk full", "", follow},
		{inproc, "error", "unwrapped", "rank 2: disk full", "", follow},
		{shm, "error", "sleep", "rank 2: disk full", "", stuck},
		{shm, "error", "spin", "rank 2: disk full", "", stuck},
		{shm, "error", "context", "rank 2: disk full", "", follow},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s/%s", tt.backend, tt.how, tt.rest), func(t *testing.T) {
			checkCleanup(t)
			var b bytes.Buffer
			got, err := Run(withDeadline(t), Options{Backend: tt.backend, Ranks: 4, Output: &b}, "fault", trouble{Rank: 2, How: tt.how, Rest: tt.rest}.arg(t))
			if got != nil {
				t.Errorf("results %q, want none", got)
			}
			checkError(t, err, 2, tt.want+"\n"+tt.then)
			if !strings.Contains(b.String(), tt.output) {
				t.Errorf("output %q, want %q in it", b.String(), tt.output)
			}
		})
	}
}

// TestDeadlock checks that, if all ranks wait for each other, the error of the run is one
// line that reports a deadlock, whichever rank detects it.
func TestDeadlock(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		t.Run(backend, func(t *testing.T) {
			checkCleanup(t)
			_, err := Run(withDeadline(t), Options{Backend: backend, Ranks: 3, Output: t.Output()}, "fault", trouble{Rank: -1, How: "wait"}.arg(t))
			if text := fmt.Sprint(err); !strings.Contains(text, ": a deadlock, every rank waits: rank 0: wait, signal 0") || strings.Contains(text, "\n") {
				t.Errorf("error\n%s\nwant one line that reports a deadlock", text)
			}
		})
	}
}

// TestReturnedPeer checks the error of a rank that waits in a barrier after the job of its
// peer has returned. If both jobs return, the run must succeed.
func TestReturnedPeer(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		for _, tt := range []struct{ rest, want string }{
			{"", "rank 1: barrier, rank 0: it has been closed by that rank"},
			{"return", ""},
		} {
			t.Run(backend+"/"+tt.rest, func(t *testing.T) {
				checkCleanup(t)
				_, err := Run(withDeadline(t), Options{Backend: backend, Ranks: 2, Output: t.Output()}, "fault", trouble{How: "return", Rest: tt.rest}.arg(t))
				if tt.want == "" && err == nil {
					return
				}
				checkError(t, err, 1, tt.want)
			})
		}
	}
}

// TestKill kills one rank at a random time while all ranks run barriers. It checks that the
// error names the killed rank and lists the other ranks as consequences.
func TestKill(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		ranks := 2 + random.IntN(4)
		f := trouble{Rank: random.IntN(ranks), How: "kill", After: time.Duration(random.Int64N(int64(30 * time.Millisecond)))}
		t.Run(fmt.Sprintf("%d: rank %d of %d after %v", i, f.Rank, ranks, f.After), func(t *testing.T) {
			checkCleanup(t)
			_, err := Run(withDeadline(t), Options{Ranks: ranks, Output: t.Output()}, "fault", f.arg(t))
			var rest []*RankError
			for rank := range ranks {
				if rank != f.Rank {
					rest = append(rest, &RankError{Rank: rank})
				}
			}
			checkError(t, err, f.Rank, fmt.Sprintf("rank %d: killed by SIGKILL\n%s failed in consequence", f.Rank, formatRanks(rest)))
		})
	}
}

// TestTimeout checks the error when a rank waits in one operation for longer than
// Options.Timeout.
func TestTimeout(t *testing.T) {
	checkCleanup(t)
	_, err := Run(withDeadline(t), Options{Ranks: 2, Timeout: 400 * time.Millisecond, Output: t.Output()}, "fault", trouble{Rank: 0, How: "sleep"}.arg(t))
	checkError(t, err, 1, "rank 1: barrier, rank 0: the deadline has passed: nothing in 400ms\nrank 0: did not stop in 500ms: killed by SIGKILL")
}

// TestManyFollow checks that, when one rank fails and 15 ranks fail in consequence, the
// error lists the 15 ranks in one line.
func TestManyFollow(t *testing.T) {
	checkCleanup(t)
	_, err := Run(withDeadline(t), Options{Ranks: 16, Output: t.Output()}, "fault", trouble{Rank: 3, How: "error"}.arg(t))
	checkError(t, err, 3, "rank 3: disk full\nranks 0 to 2 and 4 to 15 failed in consequence")
}

// whenBegun is a writer for the output of job fault. It calls do when the given number of
// ranks have printed that they have begun.
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

// TestCancel ends the context while all ranks are busy, wait or sleep. It checks that the
// error is the cause of the context.
func TestCancel(t *testing.T) {
	for _, how := range []string{"", "wait", "spin", "sleep", "context"} {
		t.Run(how, func(t *testing.T) {
			checkCleanup(t)
			ctx, cancel := context.WithCancelCause(withDeadline(t))
			defer cancel(nil)
			enough := errors.New("enough")
			begun := &whenBegun{3, func() { cancel(enough) }}
			got, err := Run(ctx, Options{Ranks: 3, Output: begun}, "fault", trouble{Rank: -1, How: how}.arg(t))
			if want := "the run was stopped: enough"; got != nil || !errors.Is(err, enough) || strings.Split(err.Error(), "\n")[0] != want {
				t.Errorf("results %q, error %v; want none, %s", got, err, want)
			}
		})
	}
}

// TestCancelOwnErrors ends the context of a run whose jobs then return errors that do not
// come from the context. It checks that these errors are part of the error of the run.
func TestCancelOwnErrors(t *testing.T) {
	checkCleanup(t)
	ctx, cancel := context.WithCancel(withDeadline(t))
	defer cancel()
	_, err := Run(ctx, Options{Ranks: 8, Output: &whenBegun{8, cancel}}, "fault", trouble{Rank: -1, How: "own error"}.arg(t))
	checkError(t, err, 0, "the run was stopped: context canceled\nranks 0 to 7: half a file of rank 0 is left")
}

// TestCancelEarly ends the context while the ranks are still starting. It checks that the
// error is the cause of the context.
func TestCancelEarly(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", backend, after), func(t *testing.T) {
				checkCleanup(t)
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				want := "the run was stopped: context deadline exceeded"
				if after == 0 {
					want = "launch: nothing was started: context deadline exceeded"
				}
				got, err := Run(ctx, Options{Backend: backend, Ranks: 4, Timeout: after, Output: t.Output()}, "fault", trouble{Rank: -1, How: "context"}.arg(t))
				if got != nil || !errors.Is(err, context.DeadlineExceeded) || strings.Split(err.Error(), "\n")[0] != want {
					t.Errorf("results %q, error %v; want none, %s", got, err, want)
				}
			})
		}
	}
}

// TestStubbornGoroutine runs ranks as goroutines, one of which does not stop. It checks
// that the error names this rank and says that its goroutine was left running.
func TestStubbornGoroutine(t *testing.T) {
	release := make(chan struct{})
	stubborn.Store(&release)
	checkCleanup(t)
	defer close(release)
	_, err := Run(withDeadline(t), Options{Backend: "inproc", Ranks: 2}, "fault", trouble{How: "error", Rest: "stubborn"}.arg(t))
	checkError(t, err, 0, "rank 0: disk full\nrank 1: did not stop in 500ms: left running, since a goroutine cannot be killed")
}

// TestNeverStarts checks the error when a rank hangs before it calls Child, and when the
// program of the ranks does not exist.
func TestNeverStarts(t *testing.T) {
	t.Run("hangs", func(t *testing.T) {
		checkCleanup(t)
		t.Setenv(hangingRankVariable, "1")
		startTimeout = 300 * time.Millisecond
		defer func() { startTimeout = 2 * time.Second }()
		_, err := Run(withDeadline(t), Options{Ranks: 3, Timeout: time.Millisecond, Output: t.Output()}, "echo", nil)
		checkError(t, err, 1, "rank 1: start: killed by SIGKILL: nothing heard in 300ms; main has to call launch.Child before anything else\nranks 0 and 2 failed in consequence")
	})
	t.Run("no program", func(t *testing.T) {
		checkCleanup(t)
		program = "/nowhere"
		defer func() { program = "/proc/self/exe" }()
		_, err := Run(withDeadline(t), Options{Ranks: 3, Output: t.Output()}, "echo", nil)
		checkError(t, err, 0, "rank 0: start: fork/exec /nowhere: no such file or directory")
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v, want one that is %v", err, os.ErrNotExist)
		}
	})
}
