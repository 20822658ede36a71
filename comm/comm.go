package comm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kernbench/kernbench/internal/lists"
)

// Options change how a rank is opened. The zero value suits most programs.
type Options struct {
	Backend string        // "shm" if empty
	Timeout time.Duration // longest wait for other ranks in one operation; 0: no limit while these ranks are alive

	contextVersion uint32 // 0 means ContextVersion; tests set other versions
}

// DefaultBackend is the backend for processes of one machine.
const DefaultBackend = "shm"

// Comm is a communicator: a set of ranks that use windows and barriers together. Open
// returns the communicator of all ranks, the world. [Comm.Domain] creates a communicator of
// a subset of the ranks. Only one goroutine of a rank may use its communicators and windows
// at a time.
type Comm struct {
	world      *world
	rank, size int
	ranks      []int // ranks in the world, by rank in the communicator
	ctrl       *control
	generation uint64   // number of barriers that this rank has entered
	sent       []uint64 // number of messages sent to each rank
	received   []uint64 // number of messages received from each rank
	windows    []*Window
	allocated  int // number of windows ever allocated
	domains    []*Comm
	closed     bool
}

// Open joins a run of `nranks` ranks as the rank with the number `rank`, and waits until
// all ranks have joined. rendezvous names the run; its form depends on the backend. For shm
// it is memory that a launcher has passed on, or a name that the processes have agreed on.
// For inproc it is a name within the process. When ctx ends, the communicator fails.
func Open(ctx context.Context, rank, nranks int, rendezvous string, o Options) (*Comm, error) {
	refuse := func(err error) error {
		return &Error{Rank: rank, Peer: -1, Op: "open", Signal: -1, Err: err}
	}
	if nranks < 1 || rank < 0 || rank >= nranks {
		return nil, refuse(fmt.Errorf("%w: no rank %d of %d: ranks are 0 to nranks-1", ErrRange, rank, nranks))
	}
	b, err := findBackend(cmp.Or(o.Backend, DefaultBackend))
	if err != nil {
		return nil, refuse(err)
	}
	joining := ctx
	if o.Timeout > 0 { // limits Join; each later wait has its own deadline
		var cancel context.CancelFunc
		joining, cancel = context.WithTimeoutCause(ctx, o.Timeout, ErrTimeout)
		defer cancel()
	}
	link, err := b.Join(joining, rank, nranks, rendezvous, controlBytes(nranks))
	if err != nil {
		return nil, refuse(err)
	}
	w := &world{ctx: ctx, link: link, rank: rank, size: nranks, timeout: o.Timeout, oversubscribed: isOversubscribed(nranks)}
	c := &Comm{world: w, rank: rank, size: nranks, ranks: lists.Count(0, nranks)}
	if err := c.attach(0); err != nil {
		return nil, errors.Join(refuse(err), link.Close())
	}
	w.ctrl = c.ctrl
	if err := c.exchangeHellos(o); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return c, nil
}

// exchangeHellos sends a hello message to all other ranks and receives theirs. It returns
// an error if the context version or the number of ranks of another rank differs from this
// rank's.
func (c *Comm) exchangeHellos(o Options) error {
	p := newPlace("open", "hello")
	version := cmp.Or(o.contextVersion, ContextVersion)
	for peer := range others(c.rank, c.size) {
		if err := c.send(p, peer, message{kind: hello, values: [3]uint64{uint64(version), uint64(c.size)}}); err != nil {
			return err
		}
	}
	for peer := range others(c.rank, c.size) {
		m, err := c.receive(p, peer, hello)
		if err != nil {
			return err
		}
		if theirs := uint32(m.values[0]); theirs != version {
			return c.fail(p.withPeer(peer), fmt.Errorf("%w: rank %d has context version %d, rank %d version %d: build both from one version of kernbench",
				ErrMismatch, c.rank, version, peer, theirs))
		}
		if theirs := int(m.values[1]); theirs != c.size {
			return c.fail(p.withPeer(peer), fmt.Errorf("%w: rank %d says that there are %d ranks, rank %d that there are %d",
				ErrMismatch, c.rank, c.size, peer, theirs))
		}
	}
	return nil
}

// attach maps the control memory of the communicator into this rank. handle identifies the
// memory.
func (c *Comm) attach(handle uint64) error {
	seg, err := c.world.link.Map(handle, c.ranks, controlBytes(c.size))
	if err != nil {
		return err
	}
	c.ctrl = &control{Segment: seg, local: seg.Bytes(c.rank)}
	c.sent, c.received = make([]uint64, c.size), make([]uint64, c.size)
	return nil
}

// others iterates over the ranks from 0 to ranks-1, except for the given rank.
func others(rank, ranks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for peer := range ranks {
			if peer != rank && !yield(peer) {
				return
			}
		}
	}
}

// Rank returns the number of this rank in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks in the communicator.
func (c *Comm) Size() int { return c.size }

// Ranks returns the world ranks of the members. Element i is the world rank of the member
// that has rank i in this communicator.
func (c *Comm) Ranks() []int { return slices.Clone(c.ranks) }

// Err returns the error that poisoned the communicator. It returns nil if the communicator
// is not poisoned.
func (c *Comm) Err() error {
	if e := c.world.poison.Load(); e != nil {
		return e
	}
	return nil
}

// SetTimeout changes the longest time that one operation waits for other ranks. It applies
// to the world and all domains of this rank. With 0, operations wait as long as the other
// ranks are alive.
func (c *Comm) SetTimeout(d time.Duration) { c.world.timeout = d }

// Abort makes all operations of all ranks fail with err as the reason. A rank calls Abort
// if it cannot continue.
func (c *Comm) Abort(err error) error {
	p := newPlace("abort", "")
	if c.closed {
		return c.errorAt(p, ErrClosed) // its control memory is unmapped
	}
	return c.fail(p, err)
}

// Close closes the communicator, its windows and its domains. It does not wait for other
// ranks: ranks that wait for this rank get an error. Closing again does nothing.
func (c *Comm) Close() error {
	if c.closed {
		return nil
	}
	var errs []error
	for _, d := range c.domains {
		errs = append(errs, d.Close())
	}
	for _, w := range c.windows {
		errs = append(errs, w.free())
	}
	c.closed = true
	for peer := range others(c.rank, c.size) {
		if err := c.ctrl.Store(peer, c.box(c.rank)+boxClosed, c.generation+1); err != nil {
			errs = append(errs, err)
			continue
		}
		c.world.link.Wake(c.ranks[peer])
	}
	if c.ctrl != c.world.ctrl {
		return errors.Join(append(errs, c.ctrl.Free())...)
	}
	return errors.Join(append(errs, c.world.link.Close())...)
}

// Backend is a way for ranks to access each other's memory. docs/write/backends.md shows
// how to add one.
type Backend interface {
	// Join adds this rank to the run that rendezvous names. From then on other ranks can
	// access segment 0, which has the given number of bytes at each rank, all zero. Join
	// need not wait for other ranks.
	Join(ctx context.Context, rank, nranks int, rendezvous string, bytes int64) (Link, error)
}

// Link is the connection of one rank to the others. Only one goroutine uses it.
type Link interface {
	// Reserve reserves memory for a segment with the given number of members and bytes at
	// each member. One member calls it and sends the handle to the others.
	Reserve(members int, bytes int64) (handle uint64, err error)
	// Map maps the memory that Reserve has reserved as `handle`, and returns it as a
	// segment. The bytes are zero at first. Every member calls it with the ranks of all
	// members in the same order.
	Map(handle uint64, members []int, bytes int64) (Segment, error)
	// Sleep marks this rank as asleep and then calls ready. Unless ready returns true, it
	// sleeps until another rank wakes this rank, at most for d. If d is 0, ready is nil
	// and Sleep only lets other ranks run.
	Sleep(ready func() bool, d time.Duration)
	// Wake ends the sleep of a rank. It is called after every change that the rank may
	// wait for, so it must be cheap while the rank is awake.
	Wake(rank int)
	// Lost returns why a rank that has joined will never answer again, for example because
	// its process has ended. It returns nil if the rank may answer or may still join. For
	// the caller's own rank it returns why the whole run cannot continue, for example
	// because the launcher has ended.
	Lost(rank int) error
	// Close releases the link and the segments that it has mapped.
	Close() error
}

// Segment is memory at each of several ranks, its members. Words are 8 bytes and their
// offsets are multiples of 8. A rank that has read a changed word sees everything that the
// changing member wrote before. [Memory] is a Segment of memory that this process can
// address.
type Segment interface {
	// Bytes returns the memory of a member, or nil if this process cannot address it. The
	// caller's own memory can always be addressed.
	Bytes(member int) []byte
	// Put and Get copy into and out of the memory of a member. Get reads a single word
	// atomically.
	Put(member int, off int64, src []byte) error
	Get(member int, off int64, dst []byte) error
	// Store, Add and CompareAndSwap change a word atomically.
	Store(member int, off int64, v uint64) error
	Add(member int, off int64, v uint64) error
	CompareAndSwap(member int, off int64, old, new uint64) (bool, error)
	// Free releases the segment at this member. The last member frees the memory.
	Free() error
}

var backends = map[string]Backend{}

// Register adds a backend under a name. The package of a backend calls it in an init
// function.
func Register(name string, b Backend) {
	if _, twice := backends[name]; twice {
		panic(fmt.Sprintf("comm: backend %s is registered twice", name))
	}
	backends[name] = b
}

// Backends returns the names of the backends that this program has, in alphabetical order.
func Backends() []string { return slices.Sorted(maps.Keys(backends)) }

func findBackend(name string) (Backend, error) {
	if b := backends[name]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no backend %q: this program has %s; import the package of another", name, strings.Join(Backends(), ", "))
}
