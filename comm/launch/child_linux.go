package launch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm/shm"
)

// Child runs the job of a rank and exits, if this process was started as a rank. Otherwise
// it returns at once. A program that calls Run must call Child at the beginning of main. A
// package whose tests call Run must call Child at the beginning of TestMain.
func Child() {
	if os.Getenv(rankVariable) == "" {
		return
	}
	if err := runRank(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runRank runs the job of this process, which is a rank, and reports the outcome to the
// launcher. It returns an error only if it cannot communicate with the launcher.
func runRank() error {
	signal.Ignore(syscall.SIGINT) // a terminal sends SIGINT to all processes; the launcher handles it
	preferOOMKill()
	os.Unsetenv(rankVariable) // processes that the job starts are not ranks
	for fd := memoryFD; fd <= reportFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	memory := os.NewFile(memoryFD, "memory")
	orders, reports := gob.NewDecoder(os.NewFile(ordersFD, "orders")), gob.NewEncoder(os.NewFile(reportFD, "report"))
	if err := reports.Encode(report{Kind: arrived}); err != nil {
		return fmt.Errorf("%s is set, but this process was not started as a rank: unset it: %w", rankVariable, err)
	}
	var o order
	if err := orders.Decode(&o); err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		var why string
		if orders.Decode(&why) != nil {
			why = "the launcher has ended"
		}
		cancel(stopCause(why))
	}()
	done := o.runJob(ctx, environment{
		backend: shm.Name, rendezvous: fmt.Sprintf("fd:%d", memoryFD), bind: bindProcess, stack: os.Stderr,
		opened: func() {
			memory.Close()                       // comm has opened it again
			reports.Encode(report{Kind: opened}) // if this fails, so does the last report
		},
	})
	last := report{Kind: ended, Result: done.result}
	if done.err != nil {
		last = report{Kind: failing, Failed: done.err.Error(), Blame: done.blame}
	}
	if err := reports.Encode(last); err != nil {
		return fmt.Errorf("tell the launcher the outcome: %w", err)
	}
	return nil
}

// preferOOMKill makes the kernel kill this process instead of the launcher when memory runs
// out. Then the launcher can report what happened. Every process may raise its own score.
// If the score cannot be written, the kernel may kill the launcher instead.
func preferOOMKill() { os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// bind binds a thread, given by its ID, to a CPU. Thread 0 is the calling thread.
func bind(thread, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if !set.IsSet(cpu) {
		return unix.EINVAL
	}
	return unix.SchedSetaffinity(thread, &set)
}

// bindProcess binds all threads of this process to a CPU. New threads inherit the binding.
// It must be called after the communicator is open, because all ranks should see the same
// number of CPUs while they open it.
func bindProcess(cpu int) error {
	bound := map[string]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		more := false
		for _, t := range threads {
			if bound[t.Name()] {
				continue
			}
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := bind(id, cpu); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			bound[t.Name()], more = true, true
		}
		if !more {
			return nil
		}
	}
}
