//go:build linux

package shm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kernbench/kernbench/comm"
)

// Name is the name of the backend.
const Name = "shm"

func init() { comm.Register(Name, backend{}) }

type backend struct{}

// Join makes this process the given rank of the run that rendezvous names. `bytes` is the
// size of the control memory per rank. Join returns the connection of the rank to the run.
func (backend) Join(ctx context.Context, rank, nranks int, rendezvous string, bytes int64) (comm.Link, error) {
	l := &link{rank: rank, ranks: nranks}
	var err error
	if fd, ok := strings.CutPrefix(rendezvous, "fd:"); ok {
		l.file, err = joinByDescriptor(fd, rank, nranks)
	} else {
		l.file, l.path, err = joinByName(ctx, rendezvous, rank, nranks)
	}
	if err != nil {
		return nil, err
	}
	if err := l.allocateBase(bytes); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// link is the connection of a rank to its run.
type link struct {
	*file
	rank, ranks int
	path        string // path of a named run; "" if a launcher created the run
	mapped      []*segment
	closed      bool
}

// allocateBase allocates segment 0, the control memory of the world, with the given number
// of bytes per rank. It sets the offset of the next segment to the end of segment 0. Every
// rank calls it. It returns an error if another rank has called it with another number of
// bytes.
func (l *link) allocateBase(bytes int64) error {
	h := l.head
	if !atomic.CompareAndSwapUint64(&h.bytes, 0, uint64(bytes)) && atomic.LoadUint64(&h.bytes) != uint64(bytes) {
		return fmt.Errorf("%w: rank %d needs %d bytes to talk to others, another rank %d: build all ranks from one version of kernbench",
			comm.ErrMismatch, l.rank, bytes, h.bytes)
	}
	from := statesEnd(l.ranks)
	n := segmentBytes(l.ranks, bytes)
	atomic.CompareAndSwapUint64(&h.next, uint64(from), uint64(from+n))
	return allocate(l.File, from, n)
}

// Reserve allocates a segment at the end of the file and returns its handle, which is its
// offset in the file.
func (l *link) Reserve(members int, bytes int64) (uint64, error) {
	n := segmentBytes(members, bytes)
	off := int64(atomic.AddUint64(&l.head.next, uint64(n))) - n
	return uint64(off), allocate(l.File, off, n)
}

// Sleep waits until another rank changes the bell of this rank, at most for d. It does not
// wait if ready returns true. With d = 0 it only lets other goroutines and processes run.
func (l *link) Sleep(ready func() bool, d time.Duration) {
	if d == 0 {
		yield()
		return
	}
	b := &l.states[l.rank]
	atomic.StoreUint32(&b.asleep, 1)
	bell := atomic.LoadUint32(&b.bell)
	if !ready() {
		futexWait(&b.bell, bell, d)
	}
	atomic.StoreUint32(&b.asleep, 0)
}

// Wake ends the sleep of a rank by changing the rank's bell. It does nothing if the rank is
// awake.
func (l *link) Wake(rank int) {
	b := &l.states[rank]
	if atomic.LoadUint32(&b.asleep) == 0 {
		return
	}
	atomic.AddUint32(&b.bell, 1)
	futexWake(&b.bell)
}

// Lost returns an error if the process of another rank has ended. For this rank itself it
// returns an error if the launcher has ended, or if some rank expects another number of
// ranks.
func (l *link) Lost(rank int) error {
	at, reason := rankLockAt(rank), "its process has ended"
	if rank == l.rank {
		if refused := atomic.LoadUint64(&l.head.refused); refused != 0 {
			return l.mismatchError(int(refused>>32)-1, int(uint32(refused)))
		}
		if l.head.first >= 0 {
			return nil // the run has no launcher
		}
		at, reason = lifeLock, "the launcher has ended"
	} else if atomic.LoadUint32(&l.states[rank].taken) == 0 {
		return nil // the rank may still join
	}
	alive, err := isLocked(l.File, at, 1)
	if err == nil && !alive {
		err = errors.New(reason)
	}
	return err
}

// Close unmaps all segments and closes the file. If some ranks have not joined yet, it
// removes the name of the run, because the run can no longer become complete.
func (l *link) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	if l.path != "" {
		errs = append(errs, removeName(l.path, l.File))
	}
	for _, s := range l.mapped {
		errs = append(errs, s.unmap())
	}
	return errors.Join(append(errs, l.file.close())...)
}
