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
	Memory // Free does not include memory that is reserved
}

// Error returns a text such as "34.4 GB of memory are needed, and 0.9 GB are free of the
// 1.07 GB that control group /a allows".
func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s of memory are needed, and %s are free of the %s that %s", GB(e.Need), GB(e.Free), GB(e.Total), e.Where)
}

// Check returns a *MemoryError if fewer than the given number of bytes are free in m. It
// returns nil if m is not known. It is for memory that an existing reservation covers;
// other callers use Reserve.
func (m Memory) Check(bytes uint64) error {
	if m.Total == 0 || bytes <= m.Free {
		return nil
	}
	return &MemoryError{bytes, m}
}

// ledger has the reservations of this process.
var ledger = &reservations{}

// reservations is the sum of all reservations, together with the memory that was available
// before the first reservation that is not negligible.
type reservations struct {
	mu       sync.Mutex
	capacity Memory // the available memory, if measured is true
	measured bool
	reserved uint64 // bytes
}

// Reserve announces that this process, or processes that it starts, will use the given
// number of bytes in addition to the bytes that are already reserved. `release` takes the
// announcement back. If fewer bytes are free, the error is a *MemoryError. Reserve
// allocates nothing.
//
// While there are reservations, free memory is not measured again. Memory that is reserved
// but not yet written therefore counts as used.
func Reserve(bytes uint64) (release func(), err error) {
	b := ledger
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(bytes); err != nil {
		return nil, err
	}
	bytes = min(bytes, math.MaxUint64-b.reserved) // no overflow if the free memory is not known
	b.reserved += bytes
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved -= bytes
		b.measured = b.measured && b.reserved > 0
	}), nil
}

// Check returns the error that Reserve would return for the given number of bytes, and
// reserves nothing. It is for memory that is allocated and written immediately, or freed
// soon.
func Check(bytes uint64) error {
	release, err := Reserve(bytes)
	if err == nil {
		release()
	}
	return err
}

// negligible is a number of bytes that fits on every computer that can run this program.
const negligible = 16 << 20

// check returns an error if the given number of bytes does not fit in addition to the
// reservations. It measures the available memory at the first reservation that is not
// negligible. If that reservation does not fit, it collects garbage of earlier work and
// measures again.
func (b *reservations) check(bytes uint64) error {
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
