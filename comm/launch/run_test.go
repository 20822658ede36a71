//go:build linux

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestResults checks that Run returns the result of every rank, for 1 to 64 ranks.
func TestResults(t *testing.T) {
	for _, backend := range []string{"", "shm", "inproc"} {
		for _, n := range []int{1, 2, 3, 8, 64} {
			if backend == "" && n > 2 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", backend, n), func(t *testing.T) {
				checkCleanup(t)
				began := time.Now()
				got, err := Run(t.Context(), Options{Backend: backend, Ranks: n, Output: t.Output()}, "echo", []byte("hello"))
				t.Logf("%v", time.Since(began))
				var want [][]byte
				for rank := range n {
					want = append(want, fmt.Appendf(nil, "%d of %d: hello", rank, n))
				}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v, results (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// TestManyBarriers checks that 8 ranks can run 1000 barriers. Usually there are fewer cores
// than ranks.
func TestManyBarriers(t *testing.T) {
	checkCleanup(t)
	if _, err := Run(t.Context(), Options{Ranks: 8, Output: t.Output()}, "barriers", []byte("1000")); err != nil {
		t.Error(err)
	}
}

// TestUnusedComm checks that a run succeeds if all jobs return at once and do not use the
// communicator.
func TestUnusedComm(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		t.Run(backend, func(t *testing.T) {
			checkCleanup(t)
			for range 5 {
				if _, err := Run(t.Context(), Options{Backend: backend, Ranks: 8, Output: t.Output()}, "idle", nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestLargeMessages checks a job whose argument and results are larger than the buffer of a
// pipe.
func TestLargeMessages(t *testing.T) {
	checkCleanup(t)
	got, err := Run(t.Context(), Options{Ranks: 2, Output: t.Output()}, "size", make([]byte, 1<<20))
	if err != nil || len(got[0]) != 1<<20 || len(got[1]) != 1<<20+1 {
		t.Errorf("error %v, results of %d ranks, want 2 of %d and %d bytes", err, len(got), 1<<20, 1<<20+1)
	}
}

// TestTwoRuns checks that two runs at the same time return their own results.
func TestTwoRuns(t *testing.T) {
	checkCleanup(t)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			got, err := Run(t.Context(), Options{Ranks: 3, Output: t.Output()}, "echo", fmt.Appendf(nil, "run %d", i))
			if want := fmt.Sprintf("2 of 3: run %d", i); err != nil || string(got[2]) != want {
				t.Errorf("error %v, results %q, want the last to be %q", err, got, want)
			}
		})
	}
	wg.Wait()
}

// TestThreadsEnd ends threads of the launcher while ranks run. It checks that the ranks
// survive. The kernel kills a rank when the thread that started the rank ends. Therefore
// the launcher must keep that thread.
func TestThreadsEnd(t *testing.T) {
	checkCleanup(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 200 {
			done := make(chan struct{})
			go func() {
				runtime.LockOSThread() // the thread ends with the goroutine
				close(done)
			}()
			<-done
		}
	}()
	if _, err := Run(t.Context(), Options{Ranks: 4, Output: t.Output()}, "barriers", []byte("2000")); err != nil {
		t.Error(err)
	}
	<-over
}

// TestOutput checks that every line that ranks write to stdout and stderr arrives, with the
// rank before it.
func TestOutput(t *testing.T) {
	checkCleanup(t)
	var b bytes.Buffer
	if _, err := Run(t.Context(), Options{Ranks: 2, Output: &b}, "print", nil); err != nil {
		t.Fatal(err)
	}
	got := strings.SplitAfter(b.String(), "\n")
	slices.Sort(got)
	want := []string{"", "rank 0: one\n", "rank 0: three\n", "rank 0: two\n", "rank 1: one\n", "rank 1: three\n", "rank 1: two\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestOutputFails checks that the ranks succeed although their output cannot be written.
// Run returns the results and the error of the output.
func TestOutputFails(t *testing.T) {
	checkCleanup(t)
	r, w := io.Pipe()
	r.CloseWithError(errors.New("no room"))
	got, err := Run(t.Context(), Options{Ranks: 2, Output: w}, "print", nil)
	if err == nil || err.Error() != "write what ranks print: no room" || len(got) != 2 {
		t.Errorf("results of %d ranks, error %v; want 2, write what ranks print: no room", len(got), err)
	}
}

// TestSubprocess lets ranks start processes that outlive them and keep the output of the
// ranks open. It checks that Run does not wait for these processes.
func TestSubprocess(t *testing.T) {
	checkCleanup(t)
	got, err := Run(t.Context(), Options{Ranks: 2, Output: t.Output()}, "subprocess", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range got {
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("process %d has ended before Run returned (%v), want that Run did not wait for it", pid, err)
		}
	}
}

// TestCPUs checks that each rank is bound to the CPU that Options.CPUs gives, and the error
// for a CPU that does not exist.
func TestCPUs(t *testing.T) {
	for _, backend := range []string{"shm", "inproc"} {
		t.Run(backend, func(t *testing.T) {
			checkCleanup(t)
			got, err := Run(t.Context(), Options{Backend: backend, Ranks: 2, CPUs: []int{0, 0}, Output: t.Output()}, "cpus", nil)
			want := [][]byte{[]byte("1 of 1: true"), []byte("1 of 1: true")}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, CPUs (-want +got):\n%s", err, diff)
			}
			_, err = Run(t.Context(), Options{Backend: backend, Ranks: 2, CPUs: []int{0, 1000}, Output: t.Output()}, "idle", nil)
			checkError(t, err, 1, "rank 1: bind to CPU 1000: invalid argument: name a CPU that this process may use")
		})
	}
}

// TestRefusedOptions checks the errors for options that Run refuses before it starts a
// rank.
func TestRefusedOptions(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		o    Options
		job  string
		want string
	}{
		{"no job", t.Context(), Options{Ranks: 1}, "nothing", `launch: no job "nothing": this program has barriers, `},
		{"no ranks", t.Context(), Options{}, "echo", "launch: 0 ranks: a run has one or more"},
		{"backend", t.Context(), Options{Backend: "sim", Ranks: 1}, "echo", `launch: backend "sim" cannot be launched: use shm, which is processes, or inproc, which is goroutines`},
		{"CPUs", t.Context(), Options{Ranks: 2, CPUs: []int{0}}, "echo", "launch: 1 CPUs for 2 ranks: name one for each rank, or none"},
		{"context", ended, Options{Ranks: 2}, "echo", "launch: nothing was started: context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(tt.ctx, tt.o, tt.job, nil)
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("results %q, error %v; want none, %s", got, err, tt.want)
			}
		})
	}
}

// TestMissingChild checks that Run returns an error in a process that is itself a rank.
// Otherwise a program that does not call Child would start itself again and again.
func TestMissingChild(t *testing.T) {
	t.Setenv(rankVariable, "0")
	_, err := Run(t.Context(), Options{Ranks: 1}, "idle", nil)
	if want := "launch: this process is a rank of another run"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestWaitingCost checks that a rank that waits one second for another rank uses little CPU
// time: it polls for a moment and then sleeps.
func TestWaitingCost(t *testing.T) {
	const wait, most = time.Second, 80 * time.Millisecond
	got, err := Run(t.Context(), Options{Ranks: 2, Output: t.Output()}, "wait", []byte(wait.String()))
	if err != nil {
		t.Fatal(err)
	}
	ns, err := strconv.Atoi(string(got[0]))
	if spent := time.Duration(ns); err != nil || spent > most {
		t.Errorf("waiting for %v took %v of a core (%v), want at most %v", wait, spent, err, most)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, backend := range []string{"shm", "inproc"} {
		for _, n := range []int{2, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", backend, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := Run(b.Context(), Options{Backend: backend, Ranks: n}, "idle", nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
