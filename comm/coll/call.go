package coll

import (
	"fmt"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
)

// Kind is a collective, one of those that [Group.Do] does.
type Kind uint8

// The collectives, named as their functions.
const (
	KindAllReduce Kind = iota
	KindReduce
	KindBroadcast
	KindAllGather
	KindReduceScatter
	KindAllToAll
	KindGather
	KindScatter
)

var kindNames = [...]string{"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}

// String is the name: "all_reduce".
func (k Kind) String() string { return printable.Name("Kind", k, kindNames[:]) }

// Rooted reports whether one rank has a part of its own in it.
func (k Kind) Rooted() bool {
	return k == KindReduce || k == KindBroadcast || k == KindGather || k == KindScatter
}

// Reduces reports whether it combines elements.
func (k Kind) Reduces() bool { return k == KindAllReduce || k == KindReduce || k == KindReduceScatter }

// call is one collective as a rank asks for it.
type call struct {
	kind      Kind
	dtype     numeric.DType
	op        Op
	algorithm Algorithm
	root      int
	count     int // elements of a part, which is all of it where there are no parts
	dst, src  []byte
	onePhase  bool // of all_reduce and reduce

	at   []place // of each rank's src; known once its entry has come
	into []place // of each rank's dst
}

// bytes is the size of a part.
func (c *call) bytes() int { return c.count * c.dtype.Size() }

// place is a buffer in a window that others can reach: a zero place is none.
type place struct {
	window int // ID
	off    int64
}

// note is what others have to know of the call: what must be equal, see saidIn, then
// where the buffers are.
func (g *Group) note(c *call) comm.Note {
	n := comm.Note{uint64(c.kind) | uint64(c.dtype)<<8 | uint64(c.op)<<16 | uint64(c.algorithm)<<24 | uint64(c.root)<<32, uint64(c.count)}
	src, dst := g.find(c.src), g.find(c.dst)
	n[2], n[3], n[4], n[5] = uint64(src.window), uint64(src.off), uint64(dst.window), uint64(dst.off)
	c.at[g.rank], c.into[g.rank] = src, dst
	return n
}

func (g *Group) find(b []byte) place {
	if w, off := g.comm.Find(b); w != nil {
		return place{w.ID(), off}
	}
	return place{}
}

// locate learns from a peer's note where its buffers are.
func (g *Group) locate(c *call, peer int, theirs *comm.Note) error {
	c.at[peer] = place{int(theirs[2]), int64(theirs[3])}
	c.into[peer] = place{int(theirs[4]), int64(theirs[5])}
	for _, at := range [...]place{c.at[peer], c.into[peer]} {
		if at.window != 0 && g.comm.Window(at.window) == nil {
			return g.comm.Fail(c.kind.String(), "entry", peer, fmt.Errorf("the window of that rank's buffer: %w here", comm.ErrClosed))
		}
	}
	return nil
}

// agree compares what a peer says of a call with what this rank has said.
func (g *Group) agree(peer int, theirs *comm.Note) error {
	if g.said[0] == theirs[0] && g.said[1] == theirs[1] {
		return nil
	}
	a, b := saidIn(&g.said), saidIn(theirs)
	said := []struct {
		what      string
		mine, its any
	}{
		{"collective", a.kind, b.kind}, {"dtype", a.dtype, b.dtype}, {"count", a.count, b.count},
		{"operation", a.op, b.op}, {"algorithm", a.algorithm, b.algorithm}, {"root", a.root, b.root},
	}
	first, ranks := 0, g.comm.Ranks()
	for said[first].mine == said[first].its {
		first++
	}
	return g.comm.Fail(a.kind.String(), "entry", peer, fmt.Errorf("%w: the %s is %v at rank %d and %v at rank %d",
		comm.ErrMismatch, said[first].what, said[first].mine, ranks[g.rank], said[first].its, ranks[peer]))
}

// saidIn is the call that a note tells of.
func saidIn(n *comm.Note) call {
	return call{kind: Kind(n[0]), dtype: numeric.DType(n[0] >> 8), op: Op(n[0] >> 16), algorithm: Algorithm(n[0] >> 24), root: int(n[0] >> 32), count: int(n[1])}
}

// Op is how elements are combined.
type Op uint8

// The operations. Avg divides the sum by the number of ranks, rounding towards zero
// for integers.
const (
	Sum Op = iota
	Prod
	Min
	Max
	Avg
)

var opNames = [...]string{"sum", "prod", "min", "max", "avg"}

func (o Op) String() string { return printable.Name("Op", o, opNames[:]) }

// numeric is the operation of two operands.
func (o Op) numeric() numeric.Op {
	return [...]numeric.Op{numeric.Add, numeric.Mul, numeric.Minimum, numeric.Maximum, numeric.Add}[o]
}

// Algorithm is a way to do a collective, by the names of package ccl.
type Algorithm uint8

// The algorithms. In DirectOnePhase every rank that wants a result reads the data of
// all others; in Direct, of all_reduce and reduce, each rank reduces a part and the
// others take the result from it.
const (
	Auto Algorithm = iota
	DirectOnePhase
	Direct
)

var algorithmNames = [...]string{"auto", "direct_one_phase", "direct"}

func (a Algorithm) String() string { return printable.Name("Algorithm", a, algorithmNames[:]) }
