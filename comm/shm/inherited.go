//go:build linux

package shm

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Create makes the memory of a run for a launcher to pass on to processes, as fd:N for
// descriptor N. The ranks notice when the launcher closes the returned holder, or
// dies.
func Create(nranks int) (memory *os.File, holder *os.File, err error) {
	fd, err := unix.MemfdCreate("kernbench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("create shared memory: %w", err)
	}
	memory = os.NewFile(uintptr(fd), "shared memory")
	if err = prepare(memory, nranks, -1); err == nil {
		holder, err = reopen(fd)
	}
	if err == nil {
		_, err = lock(holder, lifeLock)
	}
	if err != nil {
		memory.Close() // nothing is lost
		return nil, nil, err
	}
	return memory, holder, nil
}

// reopen is the same file with locks of its own, which children do not inherit.
func reopen(fd int) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
}

// inherit joins a run by a descriptor that this process was started with.
func inherit(text string, rank, ranks int) (*file, error) {
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("no descriptor %q: write fd:3", text)
	}
	f, err := reopen(fd)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not shared memory of a run: %w", fd, err)
	}
	m, err := enter(f, rank, ranks)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	return m, nil
}
