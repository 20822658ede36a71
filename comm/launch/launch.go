package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/inproc"
)

// Job is the function that a rank runs. c is the communicator of all ranks; it is closed
// after the job. If the job returns an error, the operations of the other ranks fail. The
// context ends when the run must stop.
type Job = func(ctx context.Context, c *comm.Comm, arg []byte) (result []byte, err error)

var jobs = map[string]Job{}

// Register adds a job under a name, by which Run and the processes of ranks find it. These
// processes run this program again. Register must therefore be called before Child and Run,
// in an init function.
func Register(name string, job Job) {
	if _, twice := jobs[name]; twice {
		panic(fmt.Sprintf("launch: job %s is registered twice", name))
	}
	jobs[name] = job
}

func findJob(name string) (Job, error) {
	if job := jobs[name]; job != nil {
		return job, nil
	}
	return nil, fmt.Errorf("no job %q: this program has %s; register it in an init function",
		name, strings.Join(slices.Sorted(maps.Keys(jobs)), ", "))
}

// Options says how to start ranks.
type Options struct {
	Backend string // "shm" for processes, "inproc" for goroutines; "": shm
	Ranks   int    // the number of ranks

	// Timeout is the longest time that a rank waits for other ranks in one operation. 0
	// means no limit as long as these ranks exist. Run waits for the start of each further
	// process for the same time, but at least 2 s.
	Timeout time.Duration

	// Output receives the text that processes of ranks write to stdout and stderr, the
	// stack of a job that panics, and a message if a signal such as SIGSTOP has stopped a
	// process for some seconds. Each line begins with the rank, "rank 2: ". If Output is
	// nil, the text is discarded.
	Output io.Writer

	CPUs []int // rank r is bound to CPUs[r], unless it is negative; nil binds no rank
}

// Overhead estimates the memory in bytes that the given number of ranks of a backend need
// in addition to the memory that their jobs allocate. A Go process needs 3 MB, plus memory
// for some of the program's pages.
func Overhead(backend string, ranks int) uint64 {
	if backend == inproc.Name {
		return 64 << 10 * uint64(ranks)
	}
	return 4 << 20 * uint64(ranks)
}

// grace is the time between the request to stop and the kill of a rank.
const grace = 500 * time.Millisecond

// suspendedPeriod is the interval at which the launcher looks for processes that a signal
// has stopped. It reports a process that it finds stopped twice in a row.
var suspendedPeriod = 2 * time.Second

// startTimeout is the minimum of the time that Run waits for one more process to start.
var startTimeout = 2 * time.Second

// Run runs the job with the given name on all ranks and returns their results by rank. If a
// rank fails, there are no results, and the error joins one or more [*RankError]. The root
// causes come first, with equal errors of several ranks combined. The ranks that failed in
// consequence follow. If ctx has ended, the cause of ctx comes before all of them, and
// ranks that only stopped are not mentioned. Processes that do not stop are killed.
// Goroutines cannot be killed: they are left running, and the error says so.
func Run(ctx context.Context, o Options, job string, arg []byte) (results [][]byte, err error) {
	if err := o.check(job); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("launch: nothing was started: %w", err)
	}
	start := startProcesses
	if o.Backend == inproc.Name {
		start = startGoroutines
	}
	out := &output{to: o.Output}
	s := newSupervisor(o, out)
	end, err := start(ctx, o, out, order{Ranks: o.Ranks, Job: job, Timeout: o.Timeout, Arg: arg}, s)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	s.wait(ctx)
	return s.results(), errors.Join(s.runError(), end(), out.err())
}

// check sets the default backend. It returns an error if the options are invalid or there
// is no job with the given name.
func (o *Options) check(job string) error {
	o.Backend = cmp.Or(o.Backend, comm.DefaultBackend)
	if o.Backend != comm.DefaultBackend && o.Backend != inproc.Name {
		return fmt.Errorf("backend %q cannot be launched: use %s, which is processes, or %s, which is goroutines", o.Backend, comm.DefaultBackend, inproc.Name)
	}
	if o.Ranks < 1 {
		return fmt.Errorf("%d ranks: a run has one or more", o.Ranks)
	}
	if o.CPUs != nil && len(o.CPUs) != o.Ranks {
		return fmt.Errorf("%d CPUs for %d ranks: name one for each rank, or none", len(o.CPUs), o.Ranks)
	}
	_, err := findJob(job)
	return err
}

// order is the message in which the launcher sends a rank its job.
type order struct {
	Rank, Ranks int
	Job         string
	Timeout     time.Duration
	CPU         int // the CPU to bind to; -1: any
	Arg         []byte
}

// forRank returns a copy of the order for one rank, with the number and the CPU of that
// rank. The CPU is -1 if cpus is nil.
func (o order) forRank(rank int, cpus []int) order {
	o.Rank, o.CPU = rank, -1
	if cpus != nil {
		o.CPU = cpus[rank]
	}
	return o
}

var inprocRuns atomic.Int64

// goroutine controls a rank that is a goroutine.
type goroutine struct {
	cancel      context.CancelCauseFunc
	reportEnded func() // reports to the launcher that the rank has ended, although the goroutine still runs
}

func (g *goroutine) stop(why string) { g.cancel(stopCause(why)) }

// kill only reports to the supervisor that the rank has ended. The goroutine continues to
// run, because a goroutine cannot be killed. kill returns a text that says so, and
// `running` as the blame.
func (g *goroutine) kill() (how string, became blame) {
	g.reportEnded()
	return "left running, since a goroutine cannot be killed", running
}

func (*goroutine) suspended() int { return 0 }

// startGoroutines starts the ranks of backend inproc as goroutines and adds them to the
// supervisor. The caller calls the returned function `end` when all ranks have ended.
func startGoroutines(_ context.Context, o Options, out *output, all order, s *supervisor) (end func() error, err error) {
	at := fmt.Sprintf("launch %d", inprocRuns.Add(1))
	for rank := range o.Ranks {
		// Not derived from the caller's context: the supervisor cancels it when that ends.
		ctx, cancel := context.WithCancelCause(context.Background())
		text := out.forRank(rank)
		d := environment{
			backend: inproc.Name, rendezvous: at, bind: bindThread, stack: text,
			opened: func() { s.events <- event{rank: rank, kind: opened} },
		}
		s.add(rank, &goroutine{cancel, func() { s.events <- event{rank: rank, kind: ended, died: context.Canceled} }})
		s.events <- event{rank: rank, kind: arrived}
		go func() {
			defer cancel(nil)
			done := all.forRank(rank, o.CPUs).runJob(ctx, d)
			text.flush()
			if done.err != nil {
				s.events <- event{rank: rank, kind: failing, outcome: done}
			}
			s.events <- event{rank: rank, kind: ended, outcome: done}
		}()
	}
	return func() error { return nil }, nil
}

// bindThread binds the calling goroutine to a CPU, together with its thread. The thread
// ends when the goroutine ends.
func bindThread(cpu int) error {
	runtime.LockOSThread()
	return bind(0, cpu)
}
