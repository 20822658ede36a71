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

// The file of a run: a header, a bed for each rank to sleep in, segment 0, and the
// other segments one after the other. Holes of freed ones stay.
const (
	magic   = 0x6d6873_6b4e524b // "KRNkshm"
	version = 1
	page    = 4096
	line    = 64
)

// header is the first page of the file.
type header struct {
	magic   uint64
	version uint32
	ranks   uint32 // how many
	owner   int32  // process that made the file
	first   int32  // rank that made it; -1 for a launcher
	bytes   uint64 // of each rank's part of segment 0
	next    uint64 // offset of what is not yet reserved
	refused uint64 // 1 + a rank that says that there are another number of ranks; below, that number
}

// bed is where a rank sleeps.
type bed struct {
	asleep uint32
	bell   uint32 // the futex
	taken  uint32 // 1: a process has been this rank
	_      [line - 12]byte
}

// file is a mapped file of a run.
type file struct {
	*os.File
	head *header
	top  []byte // header and beds
	beds []bed
}

func bedsEnd(ranks int) int64 { return align(page+int64(ranks)*line, page) }

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// prepare makes an empty file one of a run.
func prepare(f *os.File, ranks, first int) error {
	if err := allocate(f, 0, bedsEnd(ranks)); err != nil {
		return err
	}
	m, err := open(f, ranks)
	if err != nil {
		return err
	}
	*m.head = header{
		magic: magic, version: version, ranks: uint32(ranks),
		owner: int32(os.Getpid()), first: int32(first), next: uint64(bedsEnd(ranks)),
	}
	return m.unmap()
}

// large is how many bytes of shared memory are worth a look at how many are free.
const large = 1 << 20

// allocate gives memory to a part of the file: a write to memory that is not there would
// be too late to find out. Before that it compares the size with what is free. The pages
// count against the control group of this process, in which the kernel kills processes
// instead of refusing pages.
func allocate(f *os.File, off, n int64) error {
	if n >= large {
		if err := host.Available().Check(uint64(n)); err != nil {
			return fmt.Errorf("%w: %d bytes of shared memory: %w; ask for less", comm.ErrNoMemory, n, err)
		}
	}
	err := restarted(func() error { return unix.Fallocate(int(f.Fd()), 0, off, n) })
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EFBIG):
		return fmt.Errorf("%w: %d bytes of shared memory: %w; free some, or ask for less", comm.ErrNoMemory, n, err)
	case err != nil:
		return fmt.Errorf("allocate shared memory: %w", err)
	}
	return nil
}

// open maps the header of a file and the beds of so many ranks. The beds are there if check
// says so.
func open(f *os.File, ranks int) (*file, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < page {
		return nil, errNotOurs
	}
	top, err := unix.Mmap(int(f.Fd()), 0, int(bedsEnd(ranks)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	return &file{
		File: f, top: top,
		head: (*header)(unsafe.Pointer(&top[0])),
		beds: unsafe.Slice((*bed)(unsafe.Pointer(&top[page])), ranks),
	}, nil
}

var errNotOurs = errors.New("not shared memory of a run")

// check compares the header with what a rank expects.
func (m *file) check(rank, ranks int) error {
	switch h := m.head; {
	case h.magic != magic:
		return errNotOurs
	case h.version != version:
		return fmt.Errorf("%w: the shared memory is of layout %d, and rank %d knows layout %d: build all ranks from one version of kernbench",
			comm.ErrMismatch, h.version, rank, version)
	case int(h.ranks) != ranks:
		atomic.CompareAndSwapUint64(&h.refused, 0, uint64(rank+1)<<32|uint64(uint32(ranks)))
		return m.disagree(rank, ranks)
	}
	return nil
}

func (m *file) disagree(rank, ranks int) error {
	who := "the launcher"
	if m.head.first >= 0 {
		who = fmt.Sprintf("rank %d", m.head.first)
	}
	return fmt.Errorf("%w: rank %d says that there are %d ranks, %s that there are %d", comm.ErrMismatch, rank, ranks, who, m.head.ranks)
}

func (m *file) unmap() error {
	if m.top == nil {
		return nil
	}
	top := m.top
	m.top, m.head, m.beds = nil, nil, nil
	return unix.Munmap(top)
}

// close gives up the file, and the error with it: what matters has been said.
func (m *file) close() error { return errors.Join(m.unmap(), m.File.Close()) }

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
