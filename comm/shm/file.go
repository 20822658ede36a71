//go:build linux

package shm

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/host"
)

// The file of a run has a header, a rankState for each rank, segment 0, and the other
// segments one after the other. Freed segments leave holes that are not reused.
const (
	magic     = 0x6d6873_6b4e524b // "KRNkshm"
	version   = 1
	page      = 4096
	cacheLine = 64
)

// header is the first page of the file.
type header struct {
	magic   uint64
	version uint32
	ranks   uint32 // number of ranks
	owner   int32  // ID of the process that created the file
	first   int32  // rank that created the file; -1 for a launcher
	bytes   uint64 // size of each rank's part of segment 0; 0 until the first rank joins
	next    uint64 // offset of the next segment
	refused uint64 // upper half: 1 + a rank that expects another number of ranks; lower half: that number
}

// rankState is the shared state of a rank, on a cache line of its own.
type rankState struct {
	asleep uint32 // 1 while the rank sleeps
	bell   uint32 // futex: incremented to wake the rank
	taken  uint32 // 1 after a process has joined as this rank, even if it has ended
	_      [cacheLine - 12]byte
}

// file is a mapped file of a run.
type file struct {
	*os.File
	head   *header
	top    []byte // header and states
	states []rankState
}

// statesEnd returns the offset in the file at which the states of the ranks end and segment
// 0 begins.
func statesEnd(ranks int) int64 { return align(page+int64(ranks)*cacheLine, page) }

// align rounds n up to a multiple of `to`.
func align(n, to int64) int64 { return (n + to - 1) / to * to }

// initialize writes the header of a run with the given number of ranks into the empty file
// f. first is the rank that creates the run; -1 means a launcher.
func initialize(f *os.File, ranks, first int) error {
	if err := allocate(f, 0, statesEnd(ranks)); err != nil {
		return err
	}
	m, err := open(f, ranks)
	if err != nil {
		return err
	}
	*m.head = header{
		magic: magic, version: version, ranks: uint32(ranks),
		owner: int32(os.Getpid()), first: int32(first), next: uint64(statesEnd(ranks)),
	}
	return m.unmap()
}

// minChecked is the smallest size, in bytes, that allocate compares with the free memory.
const minChecked = 1 << 20

// allocate reserves memory for n bytes of the file from offset `off` on. Without this
// reservation, the kernel would detect a lack of memory only at a later write, and would
// end the process with a signal. If n is at least minChecked, allocate first compares n
// with the free memory and returns an error if n is too large. Without this check, the
// kernel would kill a process of the control group, because the reserved pages count
// against the memory of the group.
func allocate(f *os.File, off, n int64) error {
	if n >= minChecked {
		if err := host.Available().Check(uint64(n)); err != nil {
			return fmt.Errorf("%w: %d bytes of shared memory: %w; ask for less", comm.ErrNoMemory, n, err)
		}
	}
	err := retryInterrupted(func() error { return unix.Fallocate(int(f.Fd()), 0, off, n) })
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EFBIG):
		return fmt.Errorf("%w: %d bytes of shared memory: %w; free some, or ask for less", comm.ErrNoMemory, n, err)
	case err != nil:
		return fmt.Errorf("allocate shared memory: %w", err)
	}
	return nil
}

// open maps the header of the file and the states of the given number of ranks. The caller
// may use the states only after check has succeeded.
func open(f *os.File, ranks int) (*file, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < page {
		return nil, errNotRun
	}
	top, err := unix.Mmap(int(f.Fd()), 0, int(statesEnd(ranks)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	return &file{
		File: f, top: top,
		head:   (*header)(unsafe.Pointer(&top[0])),
		states: unsafe.Slice((*rankState)(unsafe.Pointer(&top[page])), ranks),
	}, nil
}

var errNotRun = errors.New("not shared memory of a run")

// check returns an error if the file is not the file of a run, if it has a different layout
// version, or if its number of ranks is not `ranks`. In the last case it also records the
// mismatch in the header, so that the other ranks fail, too. rank is the rank that wants to
// join.
func (m *file) check(rank, ranks int) error {
	switch h := m.head; {
	case h.magic != magic:
		return errNotRun
	case h.version != version:
		return fmt.Errorf("%w: the shared memory is of layout %d, and rank %d knows layout %d: build all ranks from one version of kernbench",
			comm.ErrMismatch, h.version, rank, version)
	case int(h.ranks) != ranks:
		atomic.CompareAndSwapUint64(&h.refused, 0, uint64(rank+1)<<32|uint64(uint32(ranks)))
		return m.mismatchError(rank, ranks)
	}
	return nil
}

// mismatchError returns the error for a rank that expects the given number of ranks, while
// the header of the file has a different number.
func (m *file) mismatchError(rank, ranks int) error {
	creator := "the launcher"
	if m.head.first >= 0 {
		creator = fmt.Sprintf("rank %d", m.head.first)
	}
	return fmt.Errorf("%w: rank %d says that there are %d ranks, %s that there are %d", comm.ErrMismatch, rank, ranks, creator, m.head.ranks)
}

func (m *file) unmap() error {
	if m.top == nil {
		return nil
	}
	top := m.top
	m.top, m.head, m.states = nil, nil, nil
	return unix.Munmap(top)
}

// close unmaps the header and the states, and closes the file.
func (m *file) close() error { return errors.Join(m.unmap(), m.File.Close()) }

// Create creates the shared memory of a run without a name. A launcher passes the file
// `memory` to the processes of the ranks, which use the rendezvous fd:N, where N is their
// descriptor of the file. The launcher keeps the file `holder` open. The ranks fail when
// the launcher closes `holder` or ends.
func Create(nranks int) (memory *os.File, holder *os.File, err error) {
	fd, err := unix.MemfdCreate("kernbench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("create shared memory: %w", err)
	}
	memory = os.NewFile(uintptr(fd), "shared memory")
	if err = initialize(memory, nranks, -1); err == nil {
		holder, err = reopen(fd)
	}
	if err == nil {
		_, err = lock(holder, lifeLock)
	}
	if err != nil {
		memory.Close() // its error does not matter
		return nil, nil, err
	}
	return memory, holder, nil
}

// reopen opens the file of descriptor fd a second time. Locks belong to the new open file,
// so child processes do not inherit them.
func reopen(fd int) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
}

// joinByDescriptor joins a run as the given rank. text is the number of a file descriptor
// that this process was started with.
func joinByDescriptor(text string, rank, ranks int) (*file, error) {
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("no descriptor %q: write fd:3", text)
	}
	f, err := reopen(fd)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is not shared memory of a run: %w", fd, err)
	}
	m, err := openAsRank(f, rank, ranks)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	return m, nil
}
