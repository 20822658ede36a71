// Package inproc is a backend of comm whose ranks are goroutines of one process. It is
// meant for tests and for experiments without processes. Importing the package registers
// the backend as "inproc". Ranks that open the same name belong to the same run. The name
// is free again when all of them have closed.
//
// The package imports comm and internal/host.
package inproc

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/host"
)

// Name is the name of the backend.
const Name = "inproc"

func init() { comm.Register(Name, Backend{}) }

// Backend implements comm.Backend with goroutines of one process. It is exported so that
// other backends can build on it.
type Backend struct{}

// run is the state that the ranks of a run share.
type run struct {
	name     string
	size     int
	first    int // rank that joined first
	sleepers []sleeper

	// The lock of runs guards the fields below.
	segments map[uint64]comm.Memory // by handle; only segments that some member has not mapped
	mapped   map[uint64]int         // number of members that have mapped a segment, by handle
	next     uint64                 // last handle
	taken    []bool                 // ranks that have joined
	open     int                    // number of ranks that have joined and not closed
	refused  error                  // why a rank could not join
}

// sleeper is the state with which a rank sleeps and is woken.
type sleeper struct {
	asleep atomic.Bool
	bell   chan struct{} // has space for one wake-up
}

var runs = struct {
	sync.Mutex
	byName map[string]*run
}{byName: map[string]*run{}}

// Join adds a rank to the run with the given name. The first rank creates the run. Join
// returns an error if the run has another number of ranks, or if the rank has joined
// already.
func (Backend) Join(_ context.Context, rank, nranks int, name string, bytes int64) (comm.Link, error) {
	runs.Lock()
	defer runs.Unlock()
	r := runs.byName[name]
	if r == nil {
		r = &run{name: name, size: nranks, first: rank, sleepers: make([]sleeper, nranks), taken: make([]bool, nranks), segments: map[uint64]comm.Memory{}, mapped: map[uint64]int{}}
		for i := range r.sleepers {
			r.sleepers[i].bell = make(chan struct{}, 1)
		}
		r.segments[0] = newMemory(nranks, bytes)
		runs.byName[name] = r
	}
	switch {
	case r.size != nranks:
		r.refused = fmt.Errorf("%w: rank %d says that there are %d ranks, rank %d that there are %d", comm.ErrMismatch, rank, nranks, r.first, r.size)
		return nil, r.refused
	case r.taken[rank]:
		return nil, fmt.Errorf("%w: rank %d of %q is there already", comm.ErrMismatch, rank, name)
	}
	r.taken[rank] = true
	r.open++
	return &link{run: r, rank: rank}, nil
}

// newMemory allocates zeroed memory with the given number of bytes for each member. The
// memory of each member begins at a cache line.
func newMemory(members int, bytes int64) comm.Memory {
	const line = 64
	each := (bytes + line - 1) / line * line
	words := make([]uint64, (each*int64(members)+line)/8)
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(all))) % line
	m := make(comm.Memory, members)
	for i := range m {
		from := int64(skip) + each*int64(i)
		m[i] = all[from : from+bytes : from+bytes]
	}
	return m
}

type link struct {
	*run
	rank   int
	closed bool
}

// Reserve allocates a segment and returns its handle.
func (l *link) Reserve(members int, bytes int64) (uint64, error) {
	if err := host.Available().Check(host.Product(int64(members), bytes)); err != nil {
		return 0, fmt.Errorf("%w: %d bytes at each of %d ranks: %w; ask for less", comm.ErrNoMemory, bytes, members, err)
	}
	m := newMemory(members, bytes)
	runs.Lock()
	defer runs.Unlock()
	l.next++
	l.segments[l.next] = m
	return l.next, nil
}

// Map returns the segment with the given handle. When the last member has mapped the
// segment, the run drops its reference. The memory is then freed when no member refers to
// it any more.
func (l *link) Map(handle uint64, members []int, bytes int64) (comm.Segment, error) {
	runs.Lock()
	defer runs.Unlock()
	m := l.segments[handle]
	if len(m) != len(members) || int64(len(m[0])) != bytes {
		return nil, fmt.Errorf("no segment %d of %d members with %d bytes", handle, len(members), bytes)
	}
	if l.mapped[handle]++; l.mapped[handle] == len(members) {
		delete(l.segments, handle) // the members keep references to it
		delete(l.mapped, handle)
	}
	return m, nil
}

// Sleep waits until another rank wakes this rank, at most for d. It does not wait if ready
// returns true. With d = 0 it only lets other goroutines run.
func (l *link) Sleep(ready func() bool, d time.Duration) {
	if d == 0 {
		runtime.Gosched()
		return
	}
	b := &l.sleepers[l.rank]
	b.asleep.Store(true)
	defer b.asleep.Store(false)
	if ready() {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.bell:
	case <-t.C:
	}
}

// Wake ends the sleep of a rank. It does nothing if the rank is awake.
func (l *link) Wake(rank int) {
	b := &l.sleepers[rank]
	if !b.asleep.Load() {
		return
	}
	select {
	case b.bell <- struct{}{}:
	default: // a wake-up is already there
	}
}

// Lost returns an error if a rank has tried to join with another number of ranks, because
// the run then never becomes complete. Otherwise it returns nil: a goroutine that has
// joined does not end without closing its communicator.
func (l *link) Lost(int) error {
	runs.Lock()
	defer runs.Unlock()
	return l.refused
}

// Close removes this rank from the run. When the last rank closes, the name of the run is
// free again.
func (l *link) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	runs.Lock()
	defer runs.Unlock()
	l.open--
	if l.open == 0 && runs.byName[l.name] == l.run {
		delete(runs.byName, l.name)
	}
	return nil
}
