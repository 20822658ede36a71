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

// openAsRank maps the header of a run's file f, checks the header and joins the run as the
// given rank. `ranks` is the expected number of ranks.
func openAsRank(f *os.File, rank, ranks int) (*file, error) {
	m, err := open(f, ranks)
	if err != nil {
		return nil, err
	}
	if err = m.check(rank, ranks); err == nil {
		err = m.takeRank(rank)
	}
	if err != nil {
		return nil, errors.Join(err, m.unmap())
	}
	return m, nil
}

// takeRank locks the byte of a rank and marks the rank as taken. It returns an error if the
// rank is already taken. The mark is permanent, because a run that has lost a rank cannot
// continue.
func (m *file) takeRank(rank int) error {
	free, err := lock(m.File, rankLockAt(rank))
	if err == nil && !free {
		err = fmt.Errorf("%w: another process is rank %d of this run, which process %d began: give each rank a number of its own, and each run a name", comm.ErrMismatch, rank, m.head.owner)
	}
	if err == nil && atomic.SwapUint32(&m.states[rank].taken, 1) != 0 {
		err = fmt.Errorf("%w: the process that was rank %d of this run has ended: start all ranks again", comm.ErrLost, rank)
	}
	return err
}

// isComplete reports whether all ranks have joined the run.
func (m *file) isComplete() bool {
	for i := range m.states {
		if atomic.LoadUint32(&m.states[i].taken) == 0 {
			return false
		}
	}
	return true
}

// Folder is the folder with the files of named runs.
const Folder = "/dev/shm"

const prefix = "kernbench."

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// joinByName joins the run with the given rendezvous, which is the run's name or path. The
// first rank creates the run. joinByName returns the mapped file and its path.
func joinByName(ctx context.Context, rendezvous string, rank, ranks int) (*file, string, error) {
	path := rendezvous
	if !strings.HasPrefix(path, "/") {
		if !namePattern.MatchString(path) {
			return nil, "", fmt.Errorf("no name of a run %.60q: write letters, digits, dots and hyphens, such as my-run; or a path that begins with /", path)
		}
		path = filepath.Join(Folder, prefix+path)
	}
	removeDeadRuns(filepath.Dir(path), path)
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, "", err
		}
		m, err := joinOrCreate(path, rank, ranks)
		if errors.Is(err, errAgain) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: remove it, or name a run that is yours", err)
		}
		return m, path, err
	}
}

// errAgain reports that another process was faster, and that the caller must try again.
var errAgain = errors.New("try again")

// joinOrCreate joins a run as the given rank. The file of the run is at path. If there is
// no file, joinOrCreate creates the run.
func joinOrCreate(path string, rank, ranks int) (*file, error) {
	begin := join
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		begin = createRun
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

// createRun creates a named run in the file f, which has no name yet, and joins it as the
// given rank. It links the file to path only after the header is written and the rank is
// locked, so that other ranks never see an incomplete run. It returns errAgain if path
// exists by then. A run of one rank needs no name and is not linked.
func createRun(path string, f *os.File, rank, ranks int) (*file, error) {
	if err := initialize(f, ranks, rank); err != nil {
		return nil, err
	}
	m, err := openAsRank(f, rank, ranks)
	if err != nil || ranks == 1 { // no other rank needs the name
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

// join joins the run whose file f was opened at path. It returns errAgain if path no longer
// names f. If the run is dead, join removes the file and returns errAgain, too. If this
// rank is the last one to join, join removes the path, so that another run can use it.
func join(path string, f *os.File, rank, ranks int) (*file, error) {
	if err := lockWaiting(f, joinLock); err != nil {
		return nil, err
	}
	defer unlock(f, joinLock)
	if !isNameOf(path, f) {
		return nil, errAgain // since it was opened, the run has become complete or was removed
	}
	alive, err := isLocked(f, rankLock, allRanks)
	if err != nil {
		return nil, err
	}
	if !alive {
		if !isRunFile(path, f) {
			return nil, fmt.Errorf("%s: %w: remove it, or name another", path, errNotRun)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove what a dead run left: %w", err)
		}
		return nil, errAgain
	}
	m, err := openAsRank(f, rank, ranks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.isComplete() {
		if err := os.Remove(path); err != nil {
			return nil, errors.Join(err, m.unmap())
		}
	}
	return m, nil
}
