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

// Locks on bytes far behind the end of the file show which processes are alive: the kernel
// releases them when a process ends. A lock belongs to an open file, not to a process. So a
// process that has opened the file twice can check its own locks.
const (
	joinLock = 1 << 61          // held while a rank joins or removes a dead run
	lifeLock = joinLock + 1     // held by the launcher
	rankLock = joinLock + 1<<20 // held by rank 0; the following bytes are of ranks 1, 2, ...
	allRanks = 1 << 30          // length of the range of rank locks, more than there can be ranks
)

func rankLockAt(rank int) int64 { return rankLock + int64(rank) }

// flock runs the given fcntl command with a lock of the given kind on n bytes of f,
// beginning at byte `from`. It returns the lock as the kernel has changed it.
func flock(f *os.File, command int, kind int16, from, n int64) (unix.Flock_t, error) {
	l := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: from, Len: n}
	err := retryInterrupted(func() error { return unix.FcntlFlock(f.Fd(), command, &l) })
	return l, err
}

// retryInterrupted repeats a system call as long as it fails because a signal has
// interrupted it.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lock tries to lock the byte of f at offset `at` and does not wait. It reports whether
// this process now holds the lock.
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

// lockWaiting locks the byte of f at offset `at`. It waits while another process holds the
// lock. No process holds the lock for long.
func lockWaiting(f *os.File, at int64) error {
	if _, err := flock(f, unix.F_OFD_SETLKW, unix.F_WRLCK, at, 1); err != nil {
		return fmt.Errorf("lock shared memory: %w", err)
	}
	return nil
}

// unlock releases the lock on the byte of f at offset `at`. It ignores errors, because
// closing the file releases the lock too.
func unlock(f *os.File, at int64) { flock(f, unix.F_OFD_SETLK, unix.F_UNLCK, at, 1) }

// isLocked reports whether another open file holds a lock on any of the n bytes of f that
// begin at offset `from`.
func isLocked(f *os.File, from, n int64) (bool, error) {
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

// futexWait sleeps as long as *w is v, at most for d. It may return early.
func futexWait(w *uint32, v uint32, d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWait, uintptr(v), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// futexWake wakes all processes that sleep in futexWait on w.
func futexWake(w *uint32) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWake, 1<<30, 0, 0, 0)
}

// yield lets other goroutines of this process run, then other processes.
func yield() {
	runtime.Gosched()
	unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}
