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

// Job is what a rank does. It begins with the communicator of all ranks, which is
// closed after it; if it returns an error, the other ranks' operations fail. The
// context ends when the run is to stop.
type Job = func(ctx context.Context, c *comm.Comm, arg []byte) (result []byte, err error)

var jobs = map[string]Job{}

// Register names work that ranks can do. Processes of ranks are this program again, so
// it must be known by name before either calls Child or Run: in an init function.
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

// Options say how ranks are started.
type Options struct {
	Backend string // "shm", which is processes, if empty; "inproc" is goroutines
	Ranks   int    // how many

	// Timeout is the longest that a rank waits for others in one operation, 0 as long as
	// they are there. Run waits as long, and 2 s at least, for one more process to have
	// started.
	Timeout time.Duration

	// Output gets what processes of ranks write to stdout and stderr, the stack of a job
	// that panics, and that a process has been stopped by a signal such as SIGSTOP for
	// some seconds, a line at a time, after the rank: "rank 2: ". Nil drops it.
	Output io.Writer

	CPUs []int // rank r is bound to CPUs[r], unless that is negative; nil binds none
}

// Overhead estimates the memory that ranks of a backend take besides what their jobs
// allocate: a process of Go has 3 MB of its own, and its share of pages of the program.
func Overhead(backend string, ranks int) uint64 {
	if backend == inproc.Name {
		return 64 << 10 * uint64(ranks)
	}
	return 4 << 20 * uint64(ranks)
}

// grace is for ranks to stop by themselves.
const grace = 500 * time.Millisecond

// suspendedPeriod is how often the launcher looks for ranks that a signal has stopped. It
// tells of those that it finds stopped twice in a row.
var suspendedPeriod = 2 * time.Second

// startTimeout is how long at least a process may take to arrive after another.
var startTimeout = 2 * time.Second

// Run has ranks do a job and returns what each returned, by rank. If any fails there
// are no results, and the error is a [*RankError] or several, joined: what ranks failed
// of by themselves, once for those that failed alike, then the numbers of those that
// failed because of it. If ctx has ended, its cause comes first, and nothing is said of
// ranks that it has stopped. Ranks that do not stop are killed; goroutines cannot be,
// and are left behind with an error that says so.
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
	return s.results(), errors.Join(s.verdict(), end(), out.err())
}

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

// order is what a rank has to know.
type order struct {
	Rank, Ranks int
	Job         string
	Timeout     time.Duration
	CPU         int // -1 for any
	Arg         []byte
}

// of is the order for a rank.
func (o order) of(rank int, cpus []int) order {
	o.Rank, o.CPU = rank, -1
	if cpus != nil {
		o.CPU = cpus[rank]
	}
	return o
}

var inprocRuns atomic.Int64

// goroutine is a rank that is one.
type goroutine struct {
	cancel context.CancelCauseFunc
	gone   func() // tells that it has ended, as far as the launcher is concerned
}

func (g *goroutine) stop(why string) { g.cancel(stopped(why)) }

func (g *goroutine) kill() (how string, became blame) {
	g.gone()
	return "left running, since a goroutine cannot be killed", running
}

func (*goroutine) suspended() int { return 0 }

// startGoroutines starts ranks of backend inproc.
func startGoroutines(_ context.Context, o Options, out *output, all order, s *supervisor) (end func() error, err error) {
	at := fmt.Sprintf("launch %d", inprocRuns.Add(1))
	for rank := range o.Ranks {
		// Not of the caller's context: the supervisor passes its end on.
		ctx, cancel := context.WithCancelCause(context.Background())
		text := out.of(rank)
		d := desk{
			backend: inproc.Name, rendezvous: at, bind: bindThread, stack: text,
			opened: func() { s.events <- event{rank: rank, kind: opened} },
		}
		s.add(rank, &goroutine{cancel, func() { s.events <- event{rank: rank, kind: ended, died: context.Canceled} }})
		s.events <- event{rank: rank, kind: arrived}
		go func() {
			defer cancel(nil)
			done := all.of(rank, o.CPUs).work(ctx, d)
			text.flush()
			if done.err != nil {
				s.events <- event{rank: rank, kind: failing, outcome: done}
			}
			s.events <- event{rank: rank, kind: ended, outcome: done}
		}()
	}
	return func() error { return nil }, nil
}

// bindThread binds the goroutine, and its thread ends with it.
func bindThread(cpu int) error {
	runtime.LockOSThread()
	return bind(0, cpu)
}
