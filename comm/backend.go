package comm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Backend is a way for ranks to reach one another's memory. docs/comm-backends.md
// shows how to add one.
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
