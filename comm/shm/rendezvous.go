//go:build linux

package shm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/kernbench/kernbench/comm"
)

// enter takes the place of a rank in the run that a file is of.
func enter(f *os.File, rank, ranks int) (*file, error) {
	m, err := open(f, ranks)
	if err != nil {
		return nil, err
	}
	if err = m.check(rank, ranks); err == nil {
		err = m.take(rank)
	}
	if err != nil {
		return nil, errors.Join(err, m.unmap())
	}
	return m, nil
}

// take marks the place of a rank as taken, for good: a run that has lost a rank cannot
// be completed.
func (m *file) take(rank int) error {
	free, err := lock(m.File, lockOf(rank))
	if err == nil && !free {
		err = fmt.Errorf("%w: another process is rank %d of this run, which process %d began: give each rank a number of its own, and each run a name", comm.ErrMismatch, rank, m.head.owner)
	}
	if err == nil && atomic.SwapUint32(&m.beds[rank].taken, 1) != 0 {
		err = fmt.Errorf("%w: the process that was rank %d of this run has ended: start all ranks again", comm.ErrLost, rank)
	}
	return err
}

// complete reports whether all ranks have joined.
func (m *file) complete() bool {
	for i := range m.beds {
		if atomic.LoadUint32(&m.beds[i].taken) == 0 {
			return false
		}
	}
	return true
}

// Folder is where named runs meet.
const Folder = "/dev/shm"

const prefix = "kernbench."

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// meet joins a named run, which the first rank makes.
func meet(ctx context.Context, rendezvous string, rank, ranks int) (*file, string, error) {
	path := rendezvous
	if !strings.HasPrefix(path, "/") {
		if !namePattern.MatchString(path) {
			return nil, "", fmt.Errorf("no name of a run %.60q: write letters, digits, dots and hyphens, such as my-run; or a path that begins with /", path)
		}
		path = filepath.Join(Folder, prefix+path)
	}
	sweep(filepath.Dir(path), path)
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, "", err
		}
		m, err := joinOrMake(path, rank, ranks)
		if errors.Is(err, errAgain) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: remove it, or name a run that is yours", err)
		}
		return m, path, err
	}
}

// errAgain means that another process was quicker.
var errAgain = errors.New("try again")

func joinOrMake(path string, rank, ranks int) (*file, error) {
	begin := join
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		begin = makeRun
		if f, err = os.OpenFile(filepath.Dir(path), os.O_RDWR|unix.O_TMPFILE, 0o600); err != nil {
			err = fmt.Errorf("create shared memory %s: %w", path, err)
		}
	}
	if err != nil {
		return nil, err
	}
	m, err := begin(path, f, rank, ranks)
	if err != nil {
		f.Close()
	}
	return m, err
}

// makeRun makes a named run of a file without a name. The file gets its name when it is
// complete and has the rank's lock.
func makeRun(path string, f *os.File, rank, ranks int) (*file, error) {
	if err := prepare(f, ranks, rank); err != nil {
		return nil, err
	}
	m, err := enter(f, rank, ranks)
	if err != nil || ranks == 1 { // nobody else comes to a run of one
		return m, err
	}
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err == nil {
		return m, nil
	}
	if errors.Is(err, fs.ErrExist) {
		err = errAgain
	} else {
		err = fmt.Errorf("create shared memory %s: %w", path, err)
	}
	return nil, errors.Join(err, m.unmap())
}

// join joins a named run, or removes a dead one.
func join(path string, f *os.File, rank, ranks int) (*file, error) {
	if err := lockWaiting(f, joinLock); err != nil {
		return nil, err
	}
	defer unlock(f, joinLock)
	if !names(path, f) {
		return nil, errAgain // it has begun, or is dead, since it was opened
	}
	alive, err := locked(f, rankLock, allRanks)
	if err != nil {
		return nil, err
	}
	if !alive {
		if !ours(path, f) {
			return nil, fmt.Errorf("%s: %w: remove it, or name another", path, errNotOurs)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove what a dead run left: %w", err)
		}
		return nil, errAgain
	}
	m, err := enter(f, rank, ranks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.complete() {
		if err := os.Remove(path); err != nil {
			return nil, errors.Join(err, m.unmap())
		}
	}
	return m, nil
}
