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

// segment is a mapped part of the file: whole pages for each member, then a page with the
// number of members that have freed the segment.
type segment struct {
	comm.Memory
	link *link
	off  int64  // offset in the file
	all  []byte // nil after the segment is unmapped
}

// segmentBytes returns the number of bytes that a segment takes in the file: whole pages
// for each member, and one page for the count of members that have freed it.
func segmentBytes(members int, bytes int64) int64 { return align(bytes, page)*int64(members) + page }

// Map maps the segment at offset `handle` of the file into this process; handle 0 means
// segment 0. `bytes` is the memory per member.
func (l *link) Map(handle uint64, members []int, bytes int64) (comm.Segment, error) {
	off := int64(handle)
	if handle == 0 {
		off = statesEnd(l.ranks)
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

// Free unmaps the segment. The last member that calls it returns the memory to the system.
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
	clear(s.Memory) // later accesses panic; slices that the caller kept point to unmapped memory
	return unix.Munmap(all)
}

// isRunFile reports whether a dead run has left the file f, which is open and which no rank
// has locked. `path` is the path of f. If isRunFile returns false, f is a file of the user,
// whose path was given by mistake. Every file in Folder with the prefix of named runs
// counts as a run's file, whatever it contains.
func isRunFile(path string, f *os.File) bool {
	if strings.HasPrefix(path, filepath.Join(Folder, prefix)) {
		return true
	}
	var first [8]byte
	_, err := f.ReadAt(first[:], 0)
	return err == nil && binary.NativeEndian.Uint64(first[:]) == magic
}

// isNameOf reports whether path still names the open file f.
func isNameOf(path string, f *os.File) bool {
	named, err := os.Lstat(path)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

// removeName removes path if it still names f, the file of the run.
func removeName(path string, f *os.File) error {
	if err := lockWaiting(f, joinLock); err != nil {
		return err
	}
	defer unlock(f, joinLock)
	if !isNameOf(path, f) {
		return nil
	}
	return os.Remove(path)
}

// removeDeadRuns removes the files that dead runs have left in a folder. It leaves the file
// at path `except`. It ignores errors, because a file that cannot be removed belongs to
// another user.
func removeDeadRuns(folder, except string) {
	paths, _ := filepath.Glob(filepath.Join(folder, prefix+"*")) // fails only for a bad pattern
	for _, path := range paths {
		if path == except {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if taken, err := lock(f, joinLock); err == nil && taken && isNameOf(path, f) {
			if alive, err := isLocked(f, rankLock, allRanks); err == nil && !alive && isRunFile(path, f) {
				os.Remove(path)
			}
		}
		f.Close()
	}
}
