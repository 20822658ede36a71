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

// program is the file that ranks execute: this program, even if its file has been replaced.
var program = "/proc/self/exe"

// rankVariable is the environment variable with the rank of a process that is a rank.
const rankVariable = "KERNBENCH_RANK"

// The file descriptors of a rank's process.
const (
	memoryFD = 3 + iota // shared memory
	ordersFD            // pipe from the launcher
	reportFD            // pipe to the launcher
)

// pipeTimeout is the time for which pipes are read after their process has ended. A process
// that the rank started may keep the pipes open.
const pipeTimeout = 200 * time.Millisecond

// process controls a rank that is a process.
type process struct {
	rank   int
	cmd    *exec.Cmd
	orders *os.File
	report *os.File
	text   *lines
	why    chan string   // the reason to stop; sent at most once
	ended  chan struct{} // closed when the process has ended
}

func (p *process) stop(why string) { p.why <- why } // does not block: the channel has capacity 1

// kill ends the process with SIGKILL. It returns a text that says so, and `killed` as the
// blame.
func (p *process) kill() (how string, became blame) {
	p.cmd.Process.Kill() // fails if the process has ended, which is fine
	return "killed by SIGKILL", killed
}

// suspended returns the process ID if a signal such as SIGSTOP has stopped the process, and
// 0 otherwise. It ignores a stop by a debugger.
func (p *process) suspended() (pid int) {
	pid = p.cmd.Process.Pid
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 { // the process has ended, or runs
		return 0
	}
	return pid
}

// startProcesses starts the ranks of backend shm as processes and adds them to the
// supervisor. It starts no more ranks after one could not be started or the context has
// ended. The caller calls the returned function `end` when all ranks have ended. `end`
// releases the thread that started the ranks, and closes `holder`, the file by which ranks
// notice that the launcher lives.
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
		// The kernel kills a rank when the thread that started it ends (Pdeathsig). This
		// thread must therefore live as long as the ranks.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for rank := 0; rank < o.Ranks && ctx.Err() == nil; rank++ {
			p, err := startProcess(all.forRank(rank, o.CPUs), memory, out)
			if err != nil {
				s.add(rank, nil)
				s.events <- event{rank: rank, kind: ended, outcome: outcome{err: fmt.Errorf("start: %w", err)}}
				break
			}
			s.add(rank, p)
			go p.watch(all.forRank(rank, o.CPUs), s.events)
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

// startProcess starts a process for the rank that order `o` names. `memory` is the shared
// memory of the run, and `out` receives the output of the process.
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
		rank: o.Rank, orders: ordersWrite, report: reportRead, text: out.forRank(o.Rank),
		why: make(chan string, 1), ended: make(chan struct{}),
		cmd: &exec.Cmd{
			Path:        program,
			Args:        []string{fmt.Sprintf("%s: rank %d of %d", os.Args[0], o.Rank, o.Ranks)},
			Env:         append(os.Environ(), fmt.Sprintf("%s=%d", rankVariable, o.Rank)),
			ExtraFiles:  []*os.File{memory, ordersRead, reportWrite},
			SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
			WaitDelay:   pipeTimeout,
		},
	}
	if out.to != nil {
		p.cmd.Stdout, p.cmd.Stderr = p.text, p.text
	}
	err = p.cmd.Start()
	if err = errors.Join(err, ordersRead.Close(), reportWrite.Close()); err != nil {
		if p.cmd.Process != nil {
			p.kill()
			p.cmd.Wait() // its error is that the process was killed
		}
		return nil, errors.Join(err, ordersWrite.Close(), reportRead.Close())
	}
	return p, nil
}

// watch sends order `o` to the process and forwards the reports of the process as events.
// When the process has ended and its pipes are closed, watch sends the event `ended`.
func (p *process) watch(o order, events chan<- event) {
	var pipes sync.WaitGroup
	var last *outcome
	pipes.Go(func() { p.sendOrders(o) })
	pipes.Go(func() { last = p.readReports(events) })
	p.cmd.Wait() // ProcessState has the result
	close(p.ended)
	p.orders.Close()                                      // ends a write in progress
	p.report.SetReadDeadline(time.Now().Add(pipeTimeout)) // pipes support deadlines
	pipes.Wait()
	p.report.Close()
	p.text.flush()
	e := event{rank: p.rank, kind: ended}
	if last != nil {
		e.outcome = *last
	} else {
		e.termSignal, e.died = describeDeath(p.cmd.ProcessState)
	}
	events <- e
}

// sendOrders writes order o to the rank and, if the rank must stop early, the reason for
// the stop. It ignores errors, because they mean that the rank has ended, which watch
// notices.
func (p *process) sendOrders(o order) {
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

// readReports reads the reports of the rank and sends them as events. It returns the
// outcome that the last report contains, or nil if no report contains one.
func (p *process) readReports(events chan<- event) *outcome {
	reports := gob.NewDecoder(p.report)
	for {
		var r report
		if reports.Decode(&r) != nil {
			return nil // the process has ended, or will end
		}
		e := event{rank: p.rank, kind: r.Kind, outcome: outcome{result: r.Result, blame: r.Blame}}
		switch r.Kind {
		case ended: // the process still runs; watch sends the event
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

// killedForMemory reports whether `died`, the error for the death of a process, may mean
// that the kernel killed the process for lack of memory. It only checks that the signal was
// SIGKILL. The caller, explain, also checks the kernel's counter of processes that were
// killed for lack of memory.
func killedForMemory(died error) bool {
	by, ok := errors.AsType[*signalError](died)
	return ok && by.Signal == syscall.SIGKILL
}

// describeDeath returns an error that says how a process ended. The process has reported no
// outcome. termSignal reports whether the process ended by SIGTERM or SIGINT, the signals
// that ask programs to end.
func describeDeath(state *os.ProcessState) (termSignal bool, err error) {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		s := status.Signal()
		return s == syscall.SIGTERM || s == syscall.SIGINT, &signalError{s}
	case state.ExitCode() == 2: // the status of a Go program that crashes
		return false, errors.New("exited with status 2 before its job returned: its output may have the reason")
	default:
		return false, fmt.Errorf("exited with status %d before its job returned", state.ExitCode())
	}
}
