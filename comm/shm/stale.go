//go:build linux

package shm

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ours reports whether an unlocked file is what a dead run left, and not a file of the
// user's at a path that was given by mistake. Names in the folder of named runs are
// ours whatever they hold.
func ours(path string, f *os.File) bool {
	if strings.HasPrefix(path, filepath.Join(Folder, prefix)) {
		return true
	}
	var first [8]byte
	_, err := f.ReadAt(first[:], 0)
	return err == nil && binary.NativeEndian.Uint64(first[:]) == magic
}

// names reports whether a path is the name of an open file.
func names(path string, f *os.File) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	this, err := f.Stat()
	return err == nil && os.SameFile(there, this)
}

// remove takes the name from a run that will not begin.
func remove(path string, f *os.File) error {
	if err := lockWaiting(f, joinLock); err != nil {
		return err
	}
	defer unlock(f, joinLock)
	if !names(path, f) {
		return nil
	}
	return os.Remove(path)
}

// sweep removes what dead runs left in a folder, but for one path. What cannot be
// removed is somebody else's.
func sweep(folder, but string) {
	paths, _ := filepath.Glob(filepath.Join(folder, prefix+"*")) // only a bad pattern
	for _, path := range paths {
		if path == but {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if taken, err := lock(f, joinLock); err == nil && taken && names(path, f) {
			if alive, err := locked(f, rankLock, allRanks); err == nil && !alive && ours(path, f) {
				os.Remove(path)
			}
		}
		f.Close()
	}
}
