//go:build linux

package shm

import (
	"os"
	"sync/atomic"
)

// Taken reports whether a process has joined a run as the given rank. The file of the run
// is at path.
func Taken(path string, rank int) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return isLocked(f, rankLockAt(rank), 1)
}

// Version is the version of the file layout that this package supports.
const Version = version

// SetVersion changes the layout version in the header of the run's file f to v.
func SetVersion(f *os.File, v uint32) error {
	m, err := open(f, 1)
	if err != nil {
		return err
	}
	atomic.StoreUint32(&m.head.version, v)
	return m.unmap()
}
