//go:build linux

package shm

import (
	"errors"
	"fmt"
	"io"
	"os"

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

func flock(from, n int64) unix.Flock_t {
	return unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: from, Len: n}
}

// lock takes the lock on a byte: at once, or not at all.
func lock(f *os.File, at int64) (taken bool, err error) {
	l := flock(at, 1)
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
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
	for {
		l := flock(at, 1)
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &l)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock shared memory: %w", err)
		}
		return nil
	}
}

func unlock(f *os.File, at int64) error {
	l := flock(at, 1)
	l.Type = unix.F_UNLCK
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
}

// locked reports whether another open file holds a lock on some of n bytes.
func locked(f *os.File, from, n int64) (bool, error) {
	l := flock(from, n)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false, fmt.Errorf("ask for locks on shared memory: %w", err)
	}
	return l.Type != unix.F_UNLCK, nil
}
