package launch

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm/shm"
)

// program is what ranks run: this program, even if its file has been replaced.
var program = "/proc/self/exe"

// rankVariable tells a process that it is a rank, and which.
const rankVariable = "KERNBENCH_RANK"

// Descriptors of a rank's process.
const (
	memoryFD = 3 + iota // shared memory
	ordersFD            // from the launcher
	reportFD            // to it
)

// linger is how long pipes are read after their process has ended, in case one that it
// started holds them open.
const linger = 200 * time.Millisecond

// process is a rank that is one.
type process struct {
	rank   int
	cmd    *exec.Cmd
	orders *os.File
	report *os.File
	text   *lines
	why    chan string // to stop
	ended  chan struct{}
}

func (p *process) stop(why string) { p.why <- why } // there is room: it is asked once

func (p *process) kill() (how string, became blame) {
	p.cmd.Process.Kill() // fails if it has ended, which is as good
	return "killed by SIGKILL", killed
}

// suspended returns the process if a signal has stopped it. One that a debugger has stopped
// is not reported.
func (p *process) suspended() (pid int) {
	pid = p.cmd.Process.Pid
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 { // it has ended, or runs
		return 0
	}
	return pid
}

// startProcesses starts ranks of backend shm. It ends early, with the ranks that there
// are, when one cannot be started or the context ends.
func startProcesses(ctx context.Context, o Options, out *output, all order, s *supervisor) (end func() error, err error) {
	if os.Getenv(rankVariable) != "" {
		return nil, errors.New("this process is a rank of another run and has not begun its job: main has to call launch.Child before anything else")
	}
	memory, holder, err := shm.Create(o.Ranks)
	if err != nil {
		return nil, err
	}
	started, over, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		// The kernel kills a rank when the thread that started it ends, so that one
		// has to last as long as they do.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for rank := 0; rank < o.Ranks && ctx.Err() == nil; rank++ {
			p, err := startProcess(all.of(rank, o.CPUs), memory, out)
			if err != nil {
				s.add(rank, nil)
				s.events <- event{rank: rank, kind: ended, outcome: outcome{err: fmt.Errorf("start: %w", err)}}
				break
			}
			s.add(rank, p)
			go p.watch(all.of(rank, o.CPUs), s.events)
		}
		close(started)
		<-over
	}()
	<-started
	closed := memory.Close()
	return func() error {
		close(over)
		<-left
		return errors.Join(closed, holder.Close())
	}, nil
}

// startProcess starts a rank.
func startProcess(o order, memory *os.File, out *output) (*process, error) {
	ordersRead, ordersWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, ordersRead.Close(), ordersWrite.Close())
	}
	p := &process{
		rank: o.Rank, orders: ordersWrite, report: reportRead, text: out.of(o.Rank),
		why: make(chan string, 1), ended: make(chan struct{}),
		cmd: &exec.Cmd{
			Path:        program,
			Args:        []string{fmt.Sprintf("%s: rank %d of %d", os.Args[0], o.Rank, o.Ranks)},
			Env:         append(os.Environ(), fmt.Sprintf("%s=%d", rankVariable, o.Rank)),
			ExtraFiles:  []*os.File{memory, ordersRead, reportWrite},
			SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
			WaitDelay:   linger,
		},
	}
	if out.to != nil {
		p.cmd.Stdout, p.cmd.Stderr = p.text, p.text
	}
	err = p.cmd.Start()
	if err = errors.Join(err, ordersRead.Close(), reportWrite.Close()); err != nil {
		if p.cmd.Process != nil {
			p.kill()
			p.cmd.Wait() // it was killed
		}
		return nil, errors.Join(err, ordersWrite.Close(), reportRead.Close())
	}
	return p, nil
}

// watch gives the process its orders, tells what it reports, and that it has ended
// when nothing of it is left.
func (p *process) watch(o order, events chan<- event) {
	var told sync.WaitGroup
	var last *outcome
	told.Go(func() { p.command(o) })
	told.Go(func() { last = p.listen(events) })
	p.cmd.Wait() // ProcessState says how it ended
	close(p.ended)
	p.orders.Close()                                 // a write that is under way ends
	p.report.SetReadDeadline(time.Now().Add(linger)) // pipes have deadlines
	told.Wait()
	p.report.Close()
	p.text.flush()
	e := event{rank: p.rank, kind: ended}
	if last != nil {
		e.outcome = *last
	} else {
		e.asked, e.died = death(p.cmd.ProcessState)
	}
	events <- e
}

// command writes the rank's orders. That it cannot is the rank's end, which is noticed
// elsewhere.
func (p *process) command(o order) {
	orders := gob.NewEncoder(p.orders)
	if orders.Encode(o) != nil {
		return
	}
	select {
	case why := <-p.why:
		orders.Encode(why)
	case <-p.ended:
	}
}

// listen reads what the rank reports, and returns the outcome that it tells.
func (p *process) listen(events chan<- event) *outcome {
	reports := gob.NewDecoder(p.report)
	for {
		var r report
		if reports.Decode(&r) != nil {
			return nil // the process has ended, or will
		}
		e := event{rank: p.rank, kind: r.Kind, outcome: outcome{result: r.Result, blame: r.Blame}}
		switch r.Kind {
		case ended: // the process has not: watch tells when
			return &e.outcome
		case failing:
			e.err = errors.New(r.Failed)
			events <- e
			return &e.outcome
		}
		events <- e
	}
}

// signalError reports that a process was ended by a signal.
type signalError struct{ syscall.Signal }

// Error returns a text such as "killed by SIGKILL".
func (e *signalError) Error() string { return "killed by " + unix.SignalName(e.Signal) }

// killedForMemory reports whether a death can be the kernel's way to get memory back. It
// has no other sign than the signal, and a counter that goes up before it.
func killedForMemory(died error) bool {
	by, ok := errors.AsType[*signalError](died)
	return ok && by.Signal == syscall.SIGKILL
}

// death returns how a process ended that told no outcome, and whether a signal that asks
// programs to end was the reason.
func death(state *os.ProcessState) (asked bool, err error) {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		s := status.Signal()
		return s == syscall.SIGTERM || s == syscall.SIGINT, &signalError{s}
	case state.ExitCode() == 2: // of a Go program that crashes
		return false, errors.New("exited with status 2 before its job returned: its output may have the reason")
	default:
		return false, fmt.Errorf("exited with status %d before its job returned", state.ExitCode())
	}
}
