//go:build linux

package shm

import (
	"os"
	"sync/atomic"
)

// Taken reports whether a process is a rank of the run at a path.
func Taken(path string, rank int) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return locked(f, lockOf(rank), 1)
}

// Version is the layout of memory that this package knows.
const Version = version

// SetVersion makes a file one of another layout.
func SetVersion(f *os.File, v uint32) error {
	m, err := open(f, 1)
	if err != nil {
		return err
	}
	atomic.StoreUint32(&m.head.version, v)
	return m.unmap()
}
