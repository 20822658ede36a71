package procpe

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// Options change how a rank runs kernels. The zero value suits most programs.
type Options struct {
	TileBytes int64     // largest total size of tiles; 0 means DefaultTileBytes
	Print     io.Writer // output of kernels, one Write for each print; nil discards it
	// Delay is called before operations that other ranks can see, and before waits. Tests
	// use it to vary the order of operations. It may be nil.
	Delay func()
}

// Banks is the number of banks of signals, which launches use in turn.
const Banks = 2

// DefaultTileBytes is eight times the TCM of the simulated machine.
const DefaultTileBytes = 16 << 20

// Rank is one rank that runs kernels, on one goroutine at a time.
type Rank struct {
	comm    *comm.Comm
	options Options
	world   []int // rank in the world of each rank of the launch
	// Launches alternate between two banks of signals. A rank that is in launch k has
	// passed its barrier, so all ranks have ended launch k-1, and no rank changes the bank
	// of k-1 any more. A rank clears that bank before it enters the barrier of launch k+1.
	signals  *comm.Window
	bank     int                 // number of signals in a bank
	barriers map[int]*tl.Barrier // state of the launch's barriers, by signal
	launches int                 // number of launches so far
	open     *Session            // the session in progress, or nil
}

// New creates a Rank. The window `signals` must have Banks times as many signals as kernels
// use. Every rank of the window's communicator calls New.
func New(signals *comm.Window, o Options) *Rank {
	o.TileBytes = cmp.Or(o.TileBytes, DefaultTileBytes)
	c := signals.Comm()
	return &Rank{comm: c, options: o, world: c.Ranks(), signals: signals, bank: signals.Signals() / Banks}
}

// Launch waits until all ranks have launched the kernel, runs it, and returns when it has
// ended at this rank. The first parameter of the kernel is a *tl.PE. The others correspond
// to args: a tl.Ptr for each [Tensor], and a number of the same kind for each number. If
// the kernel fails, the error is a *tl.Error. Other ranks do not get this error: the caller
// decides whether to call [comm.Comm.Abort].
func (r *Rank) Launch(name string, kernel any, args ...any) error {
	bound, tensors, err := tl.Bind[Tensor](name, kernel, args)
	if err != nil {
		return r.launchError(name, err)
	}
	s, err := r.Begin(name, tensors...)
	if err != nil {
		return err
	}
	defer s.End()
	c := s.newCore(func(conditions []comm.Condition, _ ...localWait) (int, error) { return r.wait(conditions) })
	c.kernel = name
	return c.run(func(m tl.Machine) { bound.Call(tl.NewPE(m, name), s.ptrs...) })
}

// launchError wraps err, the reason why a launch or a session did not start. `name` is the
// name of the kernel or of the session.
func (r *Rank) launchError(name string, err error) error {
	return fmt.Errorf("launch of %s on %s: %w", name, r.name(), err)
}

// Comm returns the communicator of the rank.
func (r *Rank) Comm() *comm.Comm { return r.comm }

func (r *Rank) name() string { return "rank " + strconv.Itoa(r.comm.Rank()) }

// synchronize switches to the next bank of signals, sets its signals to 0 and waits for the
// other ranks.
func (r *Rank) synchronize() error {
	if err := r.signals.Bank(r.launches % Banks * r.bank); err != nil {
		return err
	}
	r.launches++
	r.barriers = map[int]*tl.Barrier{}
	for i := range r.bank {
		zero, err := r.signals.TestSignal(i, tl.EQ, 0)
		if err == nil && !zero {
			err = r.signals.Notify(r.comm.Rank(), i, tl.Set, 0)
		}
		if err != nil {
			return err
		}
	}
	return r.comm.Barrier()
}

// wait waits until at least one of the conditions is true and returns the index of the
// first one that is true. The list must not be empty.
func (r *Rank) wait(conditions []comm.Condition) (int, error) {
	if only := conditions[0]; len(conditions) == 1 && only.Window == nil { // errors of WaitSignal name the signal
		return 0, r.signals.WaitSignal(only.Signal, only.Cmp, only.Value)
	}
	return r.signals.WaitAny(conditions)
}

// test returns the index of the first condition that is true now. It returns -1 if none is
// true.
func (r *Rank) test(conditions []comm.Condition) (int, error) {
	for i, c := range conditions {
		if holds, err := r.signals.TestSignal(c.Signal, c.Cmp, c.Value); holds || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// Group is a set of workers of a session that run one kernel together, with queues between
// them.
type Group struct {
	session *Session
	kernel  string
	queues  []*queue
	running int // number of members that have not left
}

// Join creates a group of workers and the queues between them. `members` lists the workers
// by member number; none may be running a kernel. `table` is the neighbour table, which the
// caller has checked. `kernel` is the name that errors use.
func (s *Session) Join(kernel string, members []*Worker, table []tl.Connection) *Group {
	s.mustBeOpen()
	g := &Group{session: s, kernel: kernel, running: len(members)}
	for _, c := range table {
		a, b := &queueEnd{member: c.A, port: c.APort}, &queueEnd{member: c.B, port: c.BPort}
		aToB, bToA := &queue{from: a, to: b}, &queue{from: b, to: a}
		g.queues = append(g.queues, aToB, bToA)
		members[c.A].core.connect(c.APort, port{out: aToB, in: bToA})
		members[c.B].core.connect(c.BPort, port{out: bToA, in: aToB})
	}
	return g
}

// connect sets the two queues of the port `at`.
func (c *core) connect(at tl.Port, p port) {
	for int(at) >= len(c.ports) {
		c.ports = append(c.ports, port{})
	}
	c.ports[at] = p
}

// Leave removes worker w from the group after its kernel has ended. When the last member
// leaves, Leave returns an error if a queue still has messages that no member received.
func (g *Group) Leave(w *Worker) error {
	for _, p := range w.core.ports {
		if p.out != nil {
			p.out.from.ended = true
		}
	}
	w.core.ports, w.core.turn = w.core.ports[:0], 0
	if g.running--; g.running > 0 {
		return nil
	}
	if i := slices.IndexFunc(g.queues, func(q *queue) bool { return len(q.messages) > 0 }); i >= 0 {
		q := g.queues[i]
		return fmt.Errorf("kernel %s on %s: ended with %d slots in use of %v, by messages that were not received", g.kernel, g.session.rank.name(), q.slots, q)
	}
	return nil
}
