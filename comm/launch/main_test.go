//go:build linux

package launch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/tl"
)

// Environment variables that make this program do something other than run tests.
const (
	launcherVariable    = "LAUNCH_TEST_LAUNCHER"  // run ranks until an interrupt
	groupVariable       = "LAUNCH_TEST_GROUP"     // join this control group and run ranks, one of which uses up its memory
	hangingRankVariable = "LAUNCH_TEST_STILLBORN" // this rank hangs before it calls Child
)

// TestMain runs the tests. In the processes of ranks and launchers that tests start, it
// runs the rank or the launcher instead. Property tests draw the same cases every time.
func TestMain(m *testing.M) {
	if rank := os.Getenv(hangingRankVariable); rank != "" && rank == os.Getenv(rankVariable) {
		time.Sleep(time.Hour) // until the launcher kills the rank
	}
	Child()
	if os.Getenv(launcherVariable) != "" {
		os.Exit(runLauncher())
	}
	if group := os.Getenv(groupVariable); group != "" {
		os.Exit(runInGroup(group))
	}
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil { // inherited by ranks, which would otherwise take a second to exit
		panic(err)
	}
	rapidtest.Seed()
	os.Exit(m.Run())
}

// runLauncher launches ranks that run until this process receives SIGINT, and returns the
// exit status.
func runLauncher() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	_, err := Run(ctx, Options{Ranks: 4, Output: os.Stdout}, "loop", nil)
	fmt.Println(err)
	if errors.Is(err, context.Canceled) {
		return 3
	}
	return 4
}

// runInGroup moves this process into the given control group and launches ranks, one of
// which uses up the memory of the group. It returns the exit status.
func runInGroup(group string) int {
	if err := hosttest.Join(group); err != nil {
		fmt.Println(err)
		return 5
	}
	_, err := Run(context.Background(), Options{Ranks: 3, Output: os.Stdout}, "eat", nil)
	fmt.Println(err)
	return 6
}

func init() {
	Register("eat", func(_ context.Context, c *comm.Comm, _ []byte) ([]byte, error) {
		if c.Rank() != 1 {
			return nil, loop(c)
		}
		var eaten [][]byte
		for len(eaten) < 1<<10 { // blocks of 1 MiB, far more than the memory of the group
			eaten = append(eaten, bytes.Repeat([]byte{1}, 1<<20))
		}
		return nil, fmt.Errorf("rank 1 has %d MiB and is not killed", len(eaten))
	})
	Register("score", func(context.Context, *comm.Comm, []byte) ([]byte, error) {
		return os.ReadFile("/proc/self/oom_score_adj")
	})
	Register("echo", func(_ context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%d of %d: %s", c.Rank(), c.Size(), arg), c.Barrier()
	})
	Register("idle", func(context.Context, *comm.Comm, []byte) ([]byte, error) { return nil, nil })
	Register("size", func(_ context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		return make([]byte, len(arg)+c.Rank()), nil
	})
	Register("barriers", func(_ context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		n, err := strconv.Atoi(string(arg))
		for i := 0; i < n && err == nil; i++ {
			err = c.Barrier()
		}
		return nil, err
	})
	Register("loop", func(_ context.Context, c *comm.Comm, _ []byte) ([]byte, error) {
		fmt.Println("pid", os.Getpid())
		return nil, loop(c)
	})
	Register("fault", fault)
	Register("print", func(_ context.Context, c *comm.Comm, _ []byte) ([]byte, error) {
		fmt.Printf("one\ntwo\n")
		fmt.Fprint(os.Stderr, "three")
		return nil, nil
	})
	Register("cpus", func(context.Context, *comm.Comm, []byte) ([]byte, error) {
		var set unix.CPUSet
		err := unix.SchedGetaffinity(0, &set)
		return fmt.Appendf(nil, "%d of 1: %v", set.Count(), set.IsSet(0)), err
	})
	Register("wait", func(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		d, err := time.ParseDuration(string(arg))
		if err != nil {
			return nil, err
		}
		if c.Rank() == 1 {
			time.Sleep(d)
		}
		before := cpuTime()
		err = c.Barrier()
		return strconv.AppendInt(nil, int64(cpuTime()-before), 10), err
	})
	Register("subprocess", func(context.Context, *comm.Comm, []byte) ([]byte, error) {
		// This process keeps the rank's stdout open long after the rank has ended.
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "20"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			return nil, err
		}
		return strconv.AppendInt(nil, int64(p.Pid), 10), p.Release()
	})
}

// loop calls Barrier until it fails, and returns the error.
func loop(c *comm.Comm) error {
	for {
		if err := c.Barrier(); err != nil {
			return err
		}
	}
}

// cpuTime returns the CPU time that this process has used so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var (
	spinning atomic.Bool                   // always true
	stubborn atomic.Pointer[chan struct{}] // closing the channel ends the goroutines of "stubborn"
)

func init() { spinning.Store(true) }

// trouble is the argument of job fault: what one rank and the other ranks do.
type trouble struct {
	Rank  int           // the rank that does How; -1: all ranks
	How   string        // a case of fault; "": pass barriers
	After time.Duration // "kill": when the rank kills itself
	Rest  string        // what the other ranks do, as How
}

// arg encodes f as an argument for job fault.
func (f trouble) arg(t testing.TB) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fault makes a rank fail or wait, as the trouble in arg says. It runs as the job of the
// rank.
func fault(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
	var f trouble
	if err := json.Unmarshal(arg, &f); err != nil {
		return nil, err
	}
	how := f.Rest
	if c.Rank() == f.Rank || f.Rank < 0 {
		how = f.How
	}
	if f.Rank < 0 && how != "wait" {
		fmt.Println("begun")
	}
	switch how {
	case "":
		return nil, loop(c)
	case "kill":
		time.AfterFunc(f.After, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		return nil, loop(c)
	case "stop":
		fmt.Println("pid", os.Getpid())
		// A signal to the process may reach another thread first, and this thread would
		// continue.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP); err != nil {
			return nil, err
		}
		return nil, c.Barrier()
	case "barrier":
		return nil, c.Barrier()
	case "exit 0":
		os.Exit(0)
	case "exit 7":
		os.Exit(7)
	case "panic":
		panic("no such thing")
	case "crash":
		go panic("elsewhere")
		return nil, loop(c)
	case "error":
		return nil, errors.New("disk full")
	case "unwrapped":
		return nil, fmt.Errorf("cannot go on: %v", loop(c))
	case "own error":
		<-ctx.Done()
		return nil, fmt.Errorf("half a file of rank %d is left", c.Rank())
	case "goexit":
		runtime.Goexit()
	case "return":
		return nil, nil
	case "closed error":
		return nil, errors.Join(c.Close(), errors.New("disk full"))
	case "wait":
		w, err := c.AllocWindow(8, 1)
		if err != nil {
			return nil, err
		}
		fmt.Println("begun")
		return nil, w.WaitSignal(0, tl.GE, 1)
	case "spin":
		for spinning.Load() {
		}
	case "stubborn":
		<-*stubborn.Load()
		return nil, nil
	case "sleep":
		time.Sleep(time.Hour)
	case "context":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("no trouble %q", how)
}

// readPIDs reads the output of a launcher until n ranks have printed their process IDs, and
// returns the IDs.
func readPIDs(t *testing.T, r *bufio.Scanner, n int) []int {
	t.Helper()
	var list []int
	for len(list) < n && r.Scan() {
		_, text, _ := strings.Cut(r.Text(), "pid ")
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("line %q, want one such as %q", r.Text(), "rank 0: pid 123")
		}
		list = append(list, pid)
	}
	if len(list) < n {
		t.Fatalf("%d ranks began, want %d: %v", len(list), n, r.Err())
	}
	return list
}
