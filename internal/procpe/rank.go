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

// Options change how a rank runs kernels. The zero value is what most want.
type Options struct {
	TileBytes int64     // of tiles that exist at a time; DefaultTileBytes if 0
	Print     io.Writer // for what kernels print, each time in one Write; nil drops it
	// Delay is called before operations that others can see or that wait for them. Tests
	// use it to shake the order.
	Delay func()
}

// Banks is how many sets of signals there are: launches use them by turns.
const Banks = 2

// DefaultTileBytes is eight times the TCM of the simulated machine.
const DefaultTileBytes = 16 << 20

// Rank is one rank that runs kernels, on one goroutine at a time.
type Rank struct {
	comm    *comm.Comm
	options Options
	world   []int // the rank in the world of each rank of the launch
	// Launches take turns with two banks of signals. Who notifies in a launch has passed
	// its barrier, and so has everybody ended the one before it: the bank of the last but
	// one is quiet when a launch begins, and its owner can clear it before the barrier.
	signals  *comm.Window
	bank     int                 // signals of a launch
	barriers map[int]*tl.Barrier // of the launch, by signal
	launches int
	open     *Session // nil if there is none
}

// New makes a rank run kernels. The window has the signals of kernels, Banks times. Every rank
// of its communicator calls New.
func New(signals *comm.Window, o Options) *Rank {
	o.TileBytes = cmp.Or(o.TileBytes, DefaultTileBytes)
	c := signals.Comm()
	return &Rank{comm: c, options: o, world: c.Ranks(), signals: signals, bank: signals.Signals() / Banks}
}

// Launch runs a kernel, a function of a *tl.PE and arguments, once all ranks have
// launched it, and returns when it has ended here. A [Tensor] goes to a tl.Ptr
// parameter, a number to one of its kind. A kernel that fails is a *tl.Error, which
// others don't hear of: whether they should, by comm's Abort, is the caller's decision.
func (r *Rank) Launch(name string, kernel any, args ...any) error {
	bound, tensors, err := tl.Bind[Tensor](name, kernel, args)
	if err != nil {
		return r.refused(name, err)
	}
	s, err := r.Begin(name, tensors...)
	if err != nil {
		return err
	}
	defer s.End()
	c := s.core(func(conditions []comm.Condition, _ ...local) (int, error) { return r.wait(conditions) })
	c.kernel = name
	return c.run(func(m tl.Machine) { bound.Call(tl.NewPE(m, name), s.ptrs...) })
}

// refused is the error of a launch that did not begin.
func (r *Rank) refused(name string, err error) error {
	return fmt.Errorf("launch of %s on %s: %w", name, r.name(), err)
}

// Comm returns the communicator of the rank.
func (r *Rank) Comm() *comm.Comm { return r.comm }

func (r *Rank) name() string { return "rank " + strconv.Itoa(r.comm.Rank()) }

// meet waits for the other ranks, with signals that are 0.
func (r *Rank) meet() error {
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

// wait waits until one of some conditions, of which there is one at least, is so, and is
// the index of the first that is.
func (r *Rank) wait(conditions []comm.Condition) (int, error) {
	if only := conditions[0]; len(conditions) == 1 && only.Window == nil { // errors name it
		return 0, r.signals.WaitSignal(only.Signal, only.Cmp, only.Value)
	}
	return r.signals.WaitAny(conditions)
}

// test is the index of the first of some conditions that is so now, -1 if none is.
func (r *Rank) test(conditions []comm.Condition) (int, error) {
	for i, c := range conditions {
		if holds, err := r.signals.TestSignal(c.Signal, c.Cmp, c.Value); holds || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// Group is workers of a session that run one kernel together, with queues between them.
type Group struct {
	session *Session
	kernel  string
	queues  []*queue
	running int // members that have not left
}

// Join builds the queues of a neighbour table between workers that run no kernel, which are
// the members of the group in that order. kernel is the name of their kernel in errors. The
// caller has checked the table.
func (s *Session) Join(kernel string, members []*Worker, table []tl.Connection) *Group {
	s.mustGoOn()
	g := &Group{session: s, kernel: kernel, running: len(members)}
	for _, c := range table {
		a, b := &end{member: c.A, port: c.APort}, &end{member: c.B, port: c.BPort}
		there, back := &queue{from: a, to: b}, &queue{from: b, to: a}
		g.queues = append(g.queues, there, back)
		members[c.A].core.join(c.APort, port{out: there, in: back})
		members[c.B].core.join(c.BPort, port{out: back, in: there})
	}
	return g
}

// join gives the core the queues of a port.
func (c *core) join(at tl.Port, p port) {
	for int(at) >= len(c.ports) {
		c.ports = append(c.ports, port{})
	}
	c.ports[at] = p
}

// Leave ends the part of a member, whose kernel has ended. When the last member leaves, it
// returns an error if there are messages that no member received.
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
		return fmt.Errorf("kernel %s on %s: ended with %d slots in use of %v, by messages that nobody received", g.kernel, g.session.rank.name(), q.slots, q)
	}
	return nil
}
