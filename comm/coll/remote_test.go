package coll_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// remote is a backend whose ranks cannot address each other's memory, like ranks on a
// network. All accesses use Put, Get and the operations on words. The backend inproc
// executes these operations.
type remote struct{ inproc.Backend }

func init() { comm.Register("remote", remote{}) }

// Join joins a run of the backend inproc. It returns a link whose segments hide the memory
// of other ranks.
func (r remote) Join(ctx context.Context, rank, nranks int, rendezvous string, bytes int64) (comm.Link, error) {
	link, err := r.Backend.Join(ctx, rank, nranks, rendezvous, bytes)
	return remoteLink{link, rank}, err
}

type remoteLink struct {
	comm.Link
	rank int
}

// Map returns a segment of inproc that hides the memory of other ranks.
func (l remoteLink) Map(handle uint64, members []int, bytes int64) (comm.Segment, error) {
	s, err := l.Link.Map(handle, members, bytes)
	if err != nil {
		return nil, err
	}
	return remoteSegment{s, members, l.rank}, nil
}

type remoteSegment struct {
	comm.Segment
	members []int
	rank    int
}

// Bytes returns the memory of the member if the member is this rank, and nil otherwise.
func (s remoteSegment) Bytes(member int) []byte {
	if s.members[member] != s.rank {
		return nil
	}
	return s.Segment.Bytes(member)
}

// TestRemote checks Put, Get, Accumulate and signals of windows when ranks cannot address
// each other's memory.
func TestRemote(t *testing.T) {
	const n = 3
	commtest.Succeed(t, runWorld("remote", n, func(c *comm.Comm) error {
		w, err := c.AllocWindow(64, 2)
		if err != nil {
			return err
		}
		next, last := (c.Rank()+1)%n, (c.Rank()+n-1)%n
		if w.Peer(next) != nil || w.Peer(c.Rank()) == nil {
			return fmt.Errorf("rank %d addresses %d bytes of rank %d and %d of its own, want none and 64", c.Rank(), len(w.Peer(next)), next, len(w.Local()))
		}
		one := binary.LittleEndian.AppendUint32(nil, 1)
		var got [1]byte
		for _, step := range []func() error{
			func() error { return w.Put(next, 0, []byte{byte(10 + c.Rank())}) },
			func() error { return w.Notify(next, 0, tl.Set, 7) },
			func() error { return w.WaitSignal(0, tl.EQ, 7) },
			func() error { return w.Accumulate(0, 8, numeric.U32, one) },
			func() error { return w.Notify(0, 1, tl.Add, 2) },
			func() error { return w.Get(c.Rank(), 0, got[:]) },
			c.Barrier,
		} {
			if err := step(); err != nil {
				return err
			}
		}
		if want := byte(10 + last); got[0] != want {
			return fmt.Errorf("rank %d: got %d from rank %d, want %d", c.Rank(), got[0], last, want)
		}
		if err := w.Get(next, 0, got[:]); err != nil {
			return err
		}
		if want := byte(10 + c.Rank()); got[0] != want {
			return fmt.Errorf("rank %d: rank %d has %d, want %d", c.Rank(), next, got[0], want)
		}
		if c.Rank() > 0 {
			return nil
		}
		if sum := binary.LittleEndian.Uint32(w.Local()[8:]); sum != n {
			return fmt.Errorf("sum of ones of %d ranks: got %d", n, sum)
		}
		return w.WaitSignal(1, tl.EQ, 2*n)
	}))
}
