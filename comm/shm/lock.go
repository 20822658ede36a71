//go:build linux

package shm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Locks on bytes far behind the end of the file tell who is alive: the kernel lets
// them go when a process ends. They belong to an open file, so that a process may ask
// about its own.
const (
	joinLock = 1 << 61          // held while joining, or removing a dead run
	lifeLock = joinLock + 1     // of the launcher
	rankLock = joinLock + 1<<20 // of rank 0, and so on
	allRanks = 1 << 30          // bytes, more than there can be ranks
)

func lockOf(rank int) int64 { return rankLock + int64(rank) }

// flock does a command with a lock of a kind on n bytes, and returns what the kernel makes of
// that.
func flock(f *os.File, command int, kind int16, from, n int64) (unix.Flock_t, error) {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: from, Len: n}
	err := restarted(func() error { return unix.FcntlFlock(f.Fd(), command, &l) })
	return l, err
}

// restarted calls a system call again while signals interrupt it.
func restarted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lock takes the lock on a byte: at once, or not at all.
func lock(f *os.File, at int64) (taken bool, err error) {
	_, err = flock(f, unix.F_OFD_SETLK, unix.F_WRLCK, at, 1)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock shared memory: %w", err)
	}
	return true, nil
}

// lockWaiting takes a lock that nobody holds for long.
func lockWaiting(f *os.File, at int64) error {
	if _, err := flock(f, unix.F_OFD_SETLKW, unix.F_WRLCK, at, 1); err != nil {
		return fmt.Errorf("lock shared memory: %w", err)
	}
	return nil
}

// unlock gives a lock back. A lock that it cannot give back ends with the file.
func unlock(f *os.File, at int64) { flock(f, unix.F_OFD_SETLK, unix.F_UNLCK, at, 1) }

// locked reports whether another open file holds a lock on some of n bytes.
func locked(f *os.File, from, n int64) (bool, error) {
	l, err := flock(f, unix.F_OFD_GETLK, unix.F_WRLCK, from, n)
	if err != nil {
		return false, fmt.Errorf("ask for locks on shared memory: %w", err)
	}
	return l.Type != unix.F_UNLCK, nil
}

const (
	futexOpWait = 0
	futexOpWake = 1
)

// futexWait sleeps while a word has a value, at most for d. It may return early.
func futexWait(w *uint32, v uint32, d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWait, uintptr(v), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// futexWake wakes who sleeps on a word.
func futexWake(w *uint32) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWake, 1<<30, 0, 0, 0)
}

// yield lets others have the core: goroutines of this process, then other processes.
func yield() {
	runtime.Gosched()
	unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}
