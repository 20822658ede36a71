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

// Options change how a rank is opened. The zero value is what most want.
type Options struct {
	Backend string        // "shm" if empty
	Timeout time.Duration // longest wait for others in one operation; 0 is as long as they are there

	contextVersion uint32 // 0 is ContextVersion; others are for tests
}

// DefaultBackend is that of processes of one machine.
const DefaultBackend = "shm"

// Comm is a communicator: some ranks that share windows. The one of Open is all of
// them, the world; [Comm.Domain] makes others. One goroutine of a rank uses its
// communicators and windows at a time.
type Comm struct {
	world      *world
	rank, size int
	ranks      []int // of the world, by rank
	ctrl       *control
	generation uint64 // barriers so far
	said       []uint64
	heard      []uint64
	windows    []*Window
	made       int // windows so far
	domains    []*Comm
	closed     bool
}

// Open joins a run as one of its ranks and waits until all have. What rendezvous names
// depends on the backend: of shm, memory that a launcher passed on, or a name that
// processes have agreed on; of inproc, a name within the process. The communicator
// fails when ctx ends.
func Open(ctx context.Context, rank, nranks int, rendezvous string, o Options) (*Comm, error) {
	refuse := func(err error) error {
		return &Error{Rank: rank, Peer: -1, Op: "open", Signal: -1, Err: err}
	}
	if nranks < 1 || rank < 0 || rank >= nranks {
		return nil, refuse(fmt.Errorf("%w: no rank %d of %d: ranks are 0 to nranks-1", ErrRange, rank, nranks))
	}
	b, err := find(cmp.Or(o.Backend, DefaultBackend))
	if err != nil {
		return nil, refuse(err)
	}
	joining := ctx
	if o.Timeout > 0 { // of joining; waits count their own
		var cancel context.CancelFunc
		joining, cancel = context.WithTimeoutCause(ctx, o.Timeout, ErrTimeout)
		defer cancel()
	}
	link, err := b.Join(joining, rank, nranks, rendezvous, controlBytes(nranks))
	if err != nil {
		return nil, refuse(err)
	}
	w := &world{ctx: ctx, link: link, rank: rank, size: nranks, timeout: o.Timeout, crowded: crowded(nranks)}
	c := &Comm{world: w, rank: rank, size: nranks, ranks: lists.Count(0, nranks)}
	if err := c.attach(0); err != nil {
		return nil, errors.Join(refuse(err), link.Close())
	}
	w.ctrl = c.ctrl
	if err := c.greet(o); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return c, nil
}

// greet meets the other ranks, who must have the same idea of the run.
func (c *Comm) greet(o Options) error {
	p := at("open", "hello")
	version := cmp.Or(o.contextVersion, ContextVersion)
	for peer := range others(c.rank, c.size) {
		if err := c.say(p, peer, message{what: hello, values: [3]uint64{uint64(version), uint64(c.size)}}); err != nil {
			return err
		}
	}
	for peer := range others(c.rank, c.size) {
		m, err := c.hear(p, peer, hello)
		if err != nil {
			return err
		}
		if theirs := uint32(m.values[0]); theirs != version {
			return c.fail(p.with(peer), fmt.Errorf("%w: rank %d has context version %d, rank %d version %d: build both from one version of kernbench",
				ErrMismatch, c.rank, version, peer, theirs))
		}
		if theirs := int(m.values[1]); theirs != c.size {
			return c.fail(p.with(peer), fmt.Errorf("%w: rank %d says that there are %d ranks, rank %d that there are %d",
				ErrMismatch, c.rank, c.size, peer, theirs))
		}
	}
	return nil
}

// attach maps the communicator's control memory.
func (c *Comm) attach(handle uint64) error {
	seg, err := c.world.link.Map(handle, c.ranks, controlBytes(c.size))
	if err != nil {
		return err
	}
	c.ctrl = &control{Segment: seg, local: seg.Bytes(c.rank)}
	c.said, c.heard = make([]uint64, c.size), make([]uint64, c.size)
	return nil
}

// others iterates over all of so many ranks but one.
func others(rank, ranks int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for peer := range ranks {
			if peer != rank && !yield(peer) {
				return
			}
		}
	}
}

// Rank is this rank's number in the communicator.
func (c *Comm) Rank() int { return c.rank }

// Size is how many ranks the communicator has.
func (c *Comm) Size() int { return c.size }

// Ranks is the members as ranks of the world, by rank of the communicator.
func (c *Comm) Ranks() []int { return slices.Clone(c.ranks) }

// Err is what poisoned the communicator: nil while it can be used.
func (c *Comm) Err() error {
	if e := c.world.poison.Load(); e != nil {
		return e
	}
	return nil
}

// SetTimeout changes the longest wait for others in one operation, of all domains of
// this rank; 0 is as long as they are there.
func (c *Comm) SetTimeout(d time.Duration) { c.world.timeout = d }

// Abort makes the operations of all ranks fail, because of err: for a rank that cannot
// go on.
func (c *Comm) Abort(err error) error {
	p := at("abort", "")
	if c.closed {
		return c.errorAt(p, ErrClosed) // its memory is gone
	}
	return c.fail(p, err)
}

// Close ends the use of the communicator, its windows and its domains. It waits for
// nobody: ranks that need this one get an error. Closing again does nothing.
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

// Backend is a way for ranks to reach one another's memory. docs/write/backends.md shows
// how to add one.
type Backend interface {
	// Join makes this rank one of the run that rendezvous names, with so many bytes of
	// memory, zeroed, that the others can reach: segment 0. It need not wait for them.
	Join(ctx context.Context, rank, nranks int, rendezvous string, bytes int64) (Link, error)
}

// Link is one rank's connection to the others. One goroutine uses it.
type Link interface {
	// Reserve sets memory aside for a segment of so many bytes at each of so many
	// members. One of them calls it and tells the others the handle.
	Reserve(members int, bytes int64) (handle uint64, err error)
	// Map gives access to a segment, whose bytes are zero at first. Every member calls
	// it, naming the members' ranks in the same order.
	Map(handle uint64, members []int, bytes int64) (Segment, error)
	// Sleep returns when somebody wakes this rank, or after d, or if ready says so when
	// it is asked, which is after this rank can be woken. A d of 0 lets others run, and
	// ready is nil.
	Sleep(ready func() bool, d time.Duration)
	// Wake ends the sleep of a rank. It is called after every change that the rank may
	// wait for, so it should cost little while the rank is awake.
	Wake(rank int)
	// Lost is why a rank that has joined will never answer again, such as that its
	// process has ended: nil while it may, or may yet join. Asked about the own rank, it
	// is why the run as a whole cannot go on, such as that whoever started it has ended.
	Lost(rank int) error
	// Close gives up the link and what it has mapped.
	Close() error
}

// Segment is memory at each of some ranks. Offsets of words are multiples of 8. What a
// member wrote before it changed a word is seen by whoever has seen the change.
// [Memory] is a Segment of memory that this process can address.
type Segment interface {
	// Bytes is the memory of a member, nil if it cannot be addressed from here. That of
	// the own member always can.
	Bytes(member int) []byte
	// Put and Get copy into and out of a member's memory. Get reads one word at once.
	Put(member int, off int64, src []byte) error
	Get(member int, off int64, dst []byte) error
	// Store, Add and CompareAndSwap change a word at once.
	Store(member int, off int64, v uint64) error
	Add(member int, off int64, v uint64) error
	CompareAndSwap(member int, off int64, old, new uint64) (bool, error)
	// Free gives up the segment. The last member to do so frees the memory.
	Free() error
}

var backends = map[string]Backend{}

// Register makes a backend known by a name. Packages of backends do so in an init
// function.
func Register(name string, b Backend) {
	if _, twice := backends[name]; twice {
		panic(fmt.Sprintf("comm: backend %s is registered twice", name))
	}
	backends[name] = b
}

// Backends returns the names of the backends that this program has, in alphabetical order.
func Backends() []string { return slices.Sorted(maps.Keys(backends)) }

func find(name string) (Backend, error) {
	if b := backends[name]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no backend %q: this program has %s; import the package of another", name, strings.Join(Backends(), ", "))
}
