package host

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync"
)

// MemoryError reports that more memory is needed than there is.
type MemoryError struct {
	Need   uint64
	Memory // Free is what is left beside other reservations
}

// Error returns a text such as "34.4 GB of memory are needed, and 0.9 GB are free of the 1.07 GB that
// control group /a allows".
func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s of memory are needed, and %s are free of the %s that %s", GB(e.Need), GB(e.Free), GB(e.Total), e.Where)
}

// Check returns a *MemoryError if fewer bytes are free. Consumers whose memory a
// reservation of another one covers already use it; all others use Reserve.
func (m Memory) Check(bytes uint64) error {
	if m.Total == 0 || bytes <= m.Free {
		return nil
	}
	return &MemoryError{bytes, m}
}

// ledger is what this process has reserved.
var ledger = &book{}

// book is a sum of reservations, and what there was before the first that matters.
type book struct {
	mu       sync.Mutex
	capacity Memory
	measured bool // capacity is known
	reserved uint64
}

// Reserve announces that this process, or processes that it starts, will use bytes of
// memory besides those that are reserved already, and returns how to take that back. The
// error is a *MemoryError if there is not as much; nothing is allocated.
//
// What a reservation holds is not measured again, so that memory which is reserved and
// not yet written counts as used.
func Reserve(bytes uint64) (release func(), err error) {
	b := ledger
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(bytes); err != nil {
		return nil, err
	}
	bytes = min(bytes, math.MaxUint64-b.reserved) // if nothing is known
	b.reserved += bytes
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved -= bytes
		b.measured = b.measured && b.reserved > 0
	}), nil
}

// Check returns the error that Reserve would return, and reserves nothing: for memory that
// is allocated and written at once, or given back soon.
func Check(bytes uint64) error {
	release, err := Reserve(bytes)
	if err == nil {
		release()
	}
	return err
}

// negligible is a sum of reservations that fits wherever this program can run.
const negligible = 16 << 20

// check reports whether there is room for bytes more. It looks at the computer with the
// first reservation that matters, and before one that would be refused because of memory
// that earlier work has left to the garbage collector.
func (b *book) check(bytes uint64) error {
	if bytes <= negligible && b.reserved <= negligible-bytes {
		return nil
	}
	fits := func() error {
		left := b.capacity
		left.Free -= min(left.Free, b.reserved)
		return left.Check(bytes)
	}
	first := !b.measured
	if first {
		b.capacity, b.measured = Available(), true
	}
	err := fits()
	if err != nil && first {
		debug.FreeOSMemory()
		b.capacity = Available()
		err = fits()
	}
	b.measured = err == nil || b.reserved > 0
	return err
}
