package host

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// Memory is how much memory there is for this process and those that it starts.
type Memory struct {
	Total uint64 // bytes of the computer, the control group or the address space; 0: not known
	Free  uint64 // bytes of Total that can still be used
	Where string // what sets the limit: "this computer has", "control group /a/b allows"
}

// system is a root folder with the files that the kernel tells about memory: "/", or a
// copy for tests.
type system string

// here is the system that this process runs on.
var here system = "/"

// Pretend makes the package read the files of another root folder and begin without
// reservations, until the returned function is called. It is for tests.
func Pretend(root string) (restore func()) {
	before, booked := here, ledger.swap(account{})
	here = system(root)
	return func() {
		here = before
		ledger.swap(booked)
	}
}

// Available returns the memory of whatever has the least left: the computer, one of the
// control groups of this process, or its address space.
func Available() Memory { return here.memory() }

func (s system) memory() Memory {
	least := s.computer()
	for _, m := range append(s.groupMemory(), s.addressSpace()) {
		if m.Total > 0 && (least.Total == 0 || m.Free < least.Free) {
			least = m
		}
	}
	return least
}

// computer returns the memory of the computer. Swap is not counted: a run that needs it
// hardly gets on.
func (s system) computer() Memory {
	info := s.fields("proc/meminfo")
	total, free := info["MemTotal:"]<<10, info["MemAvailable:"]<<10
	return Memory{total, min(free, total), "this computer has"}
}

// addressSpace returns what ulimit -v leaves to this process.
func (s system) addressSpace() Memory {
	for line := range strings.Lines(s.text("proc/self/limits")) {
		text, found := strings.CutPrefix(line, "Max address space")
		if !found {
			continue
		}
		limit, err := strconv.ParseUint(strings.Fields(text + " 0")[0], 10, 64)
		if err != nil {
			break // unlimited
		}
		used := s.fields("proc/self/status")["VmSize:"] << 10
		return Memory{limit, limit - min(limit, used), "the limit of the address space (ulimit -v) allows"}
	}
	return Memory{}
}

// text returns the contents of a file, "" if there is none.
func (s system) text(file string) string {
	b, err := os.ReadFile(filepath.Join(string(s), file))
	if err != nil {
		return ""
	}
	return string(b)
}

// fields returns the numbers of a file of lines such as "MemTotal: 16 kB" or "file 4096".
func (s system) fields(file string) map[string]uint64 {
	all := map[string]uint64{}
	for line := range strings.Lines(s.text(file)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseUint(words[1], 10, 64); err == nil {
			all[words[0]] = n
		}
	}
	return all
}

// number returns the number in a file; ok is false if there is none, or it is "max".
func (s system) number(file string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s.text(file)), 10, 64)
	return n, err == nil
}

// GB writes a number of bytes as errors do, such as "1.07 GB".
func GB[T uint64 | float64](bytes T) string { return fmt.Sprintf("%.3g GB", float64(bytes)/1e9) }

// Product multiplies numbers that are not negative, and returns the largest number there
// is where the product is more.
func Product[T int | int64 | uint64](factors ...T) uint64 {
	n := uint64(1)
	for _, f := range factors {
		if f <= 0 {
			return 0
		}
		if n > math.MaxUint64/uint64(f) {
			n = math.MaxUint64
		} else {
			n *= uint64(f)
		}
	}
	return n
}

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
