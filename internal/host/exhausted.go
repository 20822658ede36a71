package host

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// leastShare is the part of its own memory that a process should have left: what it takes
// in the time between two looks.
const leastShare = 4

// LimitHeap has the garbage collector keep this process within four fifths of the memory
// that is free, as long as what is in use fits, unless GOMEMLIMIT says otherwise. Without
// it garbage may take as much memory as what is in use.
func LimitHeap() {
	if m := Available(); m.Total > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m.Free / 5 * 4))
	}
}

// Exhausted returns an error if this process has used up nearly all of the memory that it
// can have, so that it can end before the kernel or the runtime ends it: for growth that
// cannot be estimated. Memory that can be collected does not count.
func Exhausted() error {
	if !nearlyUsedUp(Available(), ownMemory()) {
		return nil
	}
	debug.FreeOSMemory()
	m, own := Available(), ownMemory()
	if !nearlyUsedUp(m, own) {
		return nil
	}
	return fmt.Errorf("this process has %s of memory, and %s are free of the %s that %s", GB(own), GB(m.Free), GB(m.Total), m.Where)
}

func nearlyUsedUp(m Memory, own uint64) bool { return m.Total > 0 && m.Free < own/leastShare }

// ownMemory returns what the runtime has of the operating system.
func ownMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
