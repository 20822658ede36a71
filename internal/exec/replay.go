package exec

import (
	"context"
	"hash/fnv"
	"math"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/topology"
)

// Replayed is what a replay found.
type Replayed struct {
	Reads      int        // by hosts
	Unknown    int        // of which the log has no digest: the run computed no values
	Mismatched []oplog.ID // of which the digest differs
}

// Replay executes a whole log in memories of its own and compares what hosts read
// with what the log says they read. It does not change the log. It returns the cause of ctx
// when ctx ends.
func Replay(ctx context.Context, log *oplog.Log, threads int) (Replayed, error) {
	var r Replayed
	e := New(log, memories(), threads)
	e.keep = false
	e.Poll = func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	e.onRead = func(op *oplog.Op, digest uint64) {
		r.Reads++
		switch op.Digest {
		case digest:
		case 0:
			r.Unknown++
		default:
			r.Mismatched = append(r.Mismatched, op.ID)
		}
	}
	err := e.Flush()
	return r, err
}

// memories finds memories for an executor without a machine: each is there when
// first used, zero, and without end.
func memories() func(oplog.Space) *memory.Store {
	all := map[oplog.Space]*memory.Store{}
	return func(s oplog.Space) *memory.Store {
		if all[s] == nil {
			id := memory.ID{Kind: kinds[s.Kind], SIP: s.SIP, Cube: s.Cube, PE: s.PE}
			all[s] = &memory.Store{Memory: id, Size: math.MaxInt64}
		}
		return all[s]
	}
}

var kinds = map[oplog.SpaceKind]topology.Kind{
	oplog.HBM: topology.KindHBM, oplog.SRAM: topology.KindSRAM, oplog.TCM: topology.KindTCM,
}

// digest is the FNV-1a hash by which logs know what a host has read.
func digest(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b) // never fails
	return h.Sum64()
}
