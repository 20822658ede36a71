package coll

import (
	"fmt"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/numeric"
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
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Rooted reports whether one rank has a part of its own in it.
func (k Kind) Rooted() bool {
	return k == KindReduce || k == KindBroadcast || k == KindGather || k == KindScatter
}

// Reduces reports whether it combines elements.
func (k Kind) Reduces() bool { return k == KindAllReduce || k == KindReduce || k == KindReduceScatter }

// call is one collective as a rank asks for it.
type call struct {
	kind      Kind
	dtype     DType
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

// note is what others have to know of the call: what must be equal, then where the
// buffers are.
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

// agree compares a peer's call with this rank's.
func (g *Group) agree(c *call, peer int, mine, theirs *comm.Note) error {
	if mine[0] == theirs[0] && mine[1] == theirs[1] {
		c.at[peer] = place{int(theirs[2]), int64(theirs[3])}
		c.into[peer] = place{int(theirs[4]), int64(theirs[5])}
		return nil
	}
	me, they := g.comm.Ranks()[g.rank], g.comm.Ranks()[peer]
	disagree := func(what, a, b string) error {
		return g.comm.Fail(c.kind.String(), "entry", peer, fmt.Errorf("%w: %s is %s at rank %d and %s at rank %d", comm.ErrMismatch, what, a, me, b, they))
	}
	other := Kind(theirs[0])
	switch dtype, op, algorithm := DType(theirs[0]>>8), Op(theirs[0]>>16), Algorithm(theirs[0]>>24); {
	case other != c.kind:
		return disagree("the collective", c.kind.String(), other.String())
	case dtype != c.dtype:
		return disagree("the dtype", c.dtype.String(), dtype.String())
	case mine[1] != theirs[1]:
		return disagree("the count", fmt.Sprint(mine[1]), fmt.Sprint(theirs[1]))
	case op != c.op:
		return disagree("the operation", c.op.String(), op.String())
	case algorithm != c.algorithm:
		return disagree("the algorithm", c.algorithm.String(), algorithm.String())
	}
	return disagree("the root", fmt.Sprint(c.root), fmt.Sprint(int32(theirs[0]>>32)))
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

func (o Op) String() string {
	if int(o) >= len(opNames) {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return opNames[o]
}

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

func (a Algorithm) String() string {
	if int(a) >= len(algorithmNames) {
		return fmt.Sprintf("Algorithm(%d)", uint8(a))
	}
	return algorithmNames[a]
}
