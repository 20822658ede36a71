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

// Join makes this process a rank of the run that rendezvous names.
func (backend) Join(ctx context.Context, rank, nranks int, rendezvous string, bytes int64) (comm.Link, error) {
	l := &link{rank: rank, ranks: nranks}
	var err error
	if fd, ok := strings.CutPrefix(rendezvous, "fd:"); ok {
		l.file, err = inherit(fd, rank, nranks)
	} else {
		l.file, l.path, err = meet(ctx, rendezvous, rank, nranks)
	}
	if err != nil {
		return nil, err
	}
	if err := l.base(bytes); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// link is a process's connection to a run.
type link struct {
	*file
	rank, ranks int
	path        string // of a named run
	mapped      []*segment
	closed      bool
}

// base sees to it that segment 0 has memory, and that nothing is reserved within it.
func (l *link) base(bytes int64) error {
	h := l.head
	if !atomic.CompareAndSwapUint64(&h.bytes, 0, uint64(bytes)) && atomic.LoadUint64(&h.bytes) != uint64(bytes) {
		return fmt.Errorf("%w: rank %d needs %d bytes to talk to others, another rank %d: build all ranks from one version of kernbench",
			comm.ErrMismatch, l.rank, bytes, h.bytes)
	}
	from := bedsEnd(l.ranks)
	n := segmentBytes(l.ranks, bytes)
	atomic.CompareAndSwapUint64(&h.next, uint64(from), uint64(from+n))
	return allocate(l.File, from, n)
}

// Reserve takes the next part of the file.
func (l *link) Reserve(members int, bytes int64) (uint64, error) {
	n := segmentBytes(members, bytes)
	off := int64(atomic.AddUint64(&l.head.next, uint64(n))) - n
	return uint64(off), allocate(l.File, off, n)
}

// Sleep waits for the rank's bell.
func (l *link) Sleep(ready func() bool, d time.Duration) {
	if d == 0 {
		yield()
		return
	}
	b := &l.beds[l.rank]
	atomic.StoreUint32(&b.asleep, 1)
	rung := atomic.LoadUint32(&b.bell)
	if !ready() {
		futexWait(&b.bell, rung, d)
	}
	atomic.StoreUint32(&b.asleep, 0)
}

// Wake rings a rank's bell.
func (l *link) Wake(rank int) {
	b := &l.beds[rank]
	if atomic.LoadUint32(&b.asleep) == 0 {
		return
	}
	atomic.AddUint32(&b.bell, 1)
	futexWake(&b.bell)
}

// Lost asks whether a rank's process is there, or of the own rank, whether the run is.
func (l *link) Lost(rank int) error {
	at, who := lockOf(rank), "its process has ended"
	if rank == l.rank {
		if by := atomic.LoadUint64(&l.head.refused); by != 0 {
			return l.disagree(int(by>>32)-1, int(uint32(by)))
		}
		if l.head.first >= 0 {
			return nil // nobody launched it
		}
		at, who = lifeLock, "the launcher has ended"
	} else if atomic.LoadUint32(&l.beds[rank].taken) == 0 {
		return nil // it may yet join
	}
	alive, err := locked(l.File, at, 1)
	if err == nil && !alive {
		err = errors.New(who)
	}
	return err
}

// Close unmaps everything. A named run that still has its name loses it: nobody can
// complete it.
func (l *link) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	if l.path != "" {
		errs = append(errs, remove(l.path, l.File))
	}
	for _, s := range l.mapped {
		errs = append(errs, s.unmap())
	}
	return errors.Join(append(errs, l.file.close())...)
}
