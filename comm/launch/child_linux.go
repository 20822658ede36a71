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

// Child does the job of a rank and exits, if this process was started as one; else it
// returns at once. Programs that call Run call it first thing in main, and packages
// whose tests do, in TestMain.
func Child() {
	if os.Getenv(rankVariable) == "" {
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is the life of a rank's process. An error has been told to the launcher if it
// could be.
func serve() error {
	signal.Ignore(syscall.SIGINT) // the terminal sends it to all; the launcher decides
	preferAsVictim()
	os.Unsetenv(rankVariable) // what the job starts is no rank
	for fd := memoryFD; fd <= reportFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	memory := os.NewFile(memoryFD, "memory")
	orders, reports := gob.NewDecoder(os.NewFile(ordersFD, "orders")), gob.NewEncoder(os.NewFile(reportFD, "report"))
	if err := reports.Encode(report{Kind: arrived}); err != nil {
		return fmt.Errorf("%s is set, but nobody has started this process as a rank: unset it: %w", rankVariable, err)
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
		cancel(stopped(why))
	}()
	done := o.work(ctx, desk{
		backend: shm.Name, rendezvous: fmt.Sprintf("fd:%d", memoryFD), bind: bindProcess, stack: os.Stderr,
		opened: func() {
			memory.Close()                       // comm has it open again
			reports.Encode(report{Kind: opened}) // if that fails, so does the outcome
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

// preferAsVictim has the kernel kill this process before the launcher when memory runs
// out, so that the launcher is there to say so. Every process may raise its own score;
// where there is no such file ranks are as likely to be killed as the launcher.
func preferAsVictim() { os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// bind binds a thread to a CPU; 0 is the one that calls.
func bind(thread, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if !set.IsSet(cpu) {
		return unix.EINVAL
	}
	return unix.SchedSetaffinity(thread, &set)
}

// bindProcess binds all threads of this process; later ones do as those that make
// them. It is not done before the rank has met the others, who all should see the
// same number of CPUs.
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
