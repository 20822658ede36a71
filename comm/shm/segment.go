//go:build linux

package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm"
)

// segment is a part of the file: that of each member, at pages of its own, and a page
// with the number of members that have freed it.
type segment struct {
	comm.Memory
	link *link
	off  int64
	all  []byte
}

func segmentBytes(members int, bytes int64) int64 { return align(bytes, page)*int64(members) + page }

// Map maps a segment.
func (l *link) Map(handle uint64, members []int, bytes int64) (comm.Segment, error) {
	off := int64(handle)
	if handle == 0 {
		off = bedsEnd(l.ranks)
	}
	n := segmentBytes(len(members), bytes)
	all, err := unix.Mmap(int(l.Fd()), off, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of shared memory: %w", n, err)
	}
	s := &segment{Memory: make(comm.Memory, len(members)), link: l, off: off, all: all}
	for i := range members {
		from := align(bytes, page) * int64(i)
		s.Memory[i] = all[from : from+bytes : from+bytes]
	}
	l.mapped = append(l.mapped, s)
	return s, nil
}

// Free unmaps the segment; the last member to do so gives the memory back.
func (s *segment) Free() error {
	if s.all == nil {
		return nil
	}
	freed := (*uint32)(unsafe.Pointer(&s.all[len(s.all)-page]))
	last := int(atomic.AddUint32(freed, 1)) == len(s.Memory)
	n := int64(len(s.all))
	err := s.unmap()
	s.link.mapped = slices.DeleteFunc(s.link.mapped, func(o *segment) bool { return o == s })
	if last {
		err = errors.Join(err, unix.Fallocate(int(s.link.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, s.off, n))
	}
	return err
}

func (s *segment) unmap() error {
	if s.all == nil {
		return nil
	}
	all := s.all
	s.all = nil
	clear(s.Memory) // who still has a slice of it is beyond help
	return unix.Munmap(all)
}

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
