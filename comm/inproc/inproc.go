// Package inproc is a backend of comm whose ranks are goroutines of one process: for
// tests, and for trying collectives without processes. Importing it registers it as
// "inproc". Ranks that open the same name are of one run; the name is free again when
// all of them have closed.
//
// It imports comm and internal/host.
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

// Backend is the backend, for others to build on.
type Backend struct{}

// run is what the ranks of a run share.
type run struct {
	name  string
	size  int
	first int // rank, that came first
	beds  []bed

	// All below is for who holds the lock of runs.
	segments map[uint64]comm.Memory // that not all members have mapped
	mapped   map[uint64]int         // by how many
	next     uint64
	taken    []bool
	open     int   // ranks that have joined and not closed
	refused  error // of a rank that could not join
}

// bed is where a rank sleeps.
type bed struct {
	asleep atomic.Bool
	bell   chan struct{} // of one element
}

var runs = struct {
	sync.Mutex
	byName map[string]*run
}{byName: map[string]*run{}}

// Join makes a goroutine a rank.
func (Backend) Join(_ context.Context, rank, nranks int, name string, bytes int64) (comm.Link, error) {
	runs.Lock()
	defer runs.Unlock()
	r := runs.byName[name]
	if r == nil {
		r = &run{name: name, size: nranks, first: rank, beds: make([]bed, nranks), taken: make([]bool, nranks), segments: map[uint64]comm.Memory{}, mapped: map[uint64]int{}}
		for i := range r.beds {
			r.beds[i].bell = make(chan struct{}, 1)
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

// newMemory is zeroed memory for some members, at lines of the cache.
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

// Reserve allocates a segment.
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

// Map finds a segment.
func (l *link) Map(handle uint64, members []int, bytes int64) (comm.Segment, error) {
	runs.Lock()
	defer runs.Unlock()
	m := l.segments[handle]
	if len(m) != len(members) || int64(len(m[0])) != bytes {
		return nil, fmt.Errorf("no segment %d of %d members with %d bytes", handle, len(members), bytes)
	}
	if l.mapped[handle]++; l.mapped[handle] == len(members) {
		delete(l.segments, handle) // who uses it keeps it
		delete(l.mapped, handle)
	}
	return m, nil
}

// Sleep waits for the rank's bell.
func (l *link) Sleep(ready func() bool, d time.Duration) {
	if d == 0 {
		runtime.Gosched()
		return
	}
	b := &l.beds[l.rank]
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

// Wake rings a rank's bell.
func (l *link) Wake(rank int) {
	b := &l.beds[rank]
	if !b.asleep.Load() {
		return
	}
	select {
	case b.bell <- struct{}{}:
	default: // it rings already
	}
}

// Lost is why a rank could not join, if one could not. A goroutine that has joined is
// never lost: it closes its communicator.
func (l *link) Lost(int) error {
	runs.Lock()
	defer runs.Unlock()
	return l.refused
}

// Close leaves the run.
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
