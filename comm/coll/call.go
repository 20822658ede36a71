package coll

import (
	"fmt"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
)

// Kind is a collective that [Group.Do] can run.
type Kind uint8

// The collectives, named like their functions.
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

// String returns the name of the collective, such as "all_reduce".
func (k Kind) String() string { return printable.Name("Kind", k, kindNames[:]) }

// Rooted reports whether the collective has a root: one rank that provides or gets all the
// data.
func (k Kind) Rooted() bool {
	return k == KindReduce || k == KindBroadcast || k == KindGather || k == KindScatter
}

// Reduces reports whether the collective combines elements of different ranks with an [Op].
func (k Kind) Reduces() bool { return k == KindAllReduce || k == KindReduce || k == KindReduceScatter }

// call is one call of a collective by this rank.
type call struct {
	kind      Kind
	dtype     numeric.DType
	op        Op
	algorithm Algorithm
	root      int
	count     int // elements of each rank's part, or of the whole buffer if it has no parts
	dst, src  []byte
	onePhase  bool // every rank that wants the result of all_reduce or reduce combines all data

	srcPlaces []place // place of the src of each rank; that of a peer is set when the peer has entered the call
	dstPlaces []place // place of the dst of each rank, set at the same time
}

// bytes returns the size in bytes of each rank's part, or of the whole buffer if it has no
// parts.
func (c *call) bytes() int { return c.count * c.dtype.Size() }

// place is the position of a buffer in a window. The zero value means private memory.
type place struct {
	window int // ID of the window
	off    int64
}

// makeNote encodes the call in a note for the other ranks, and sets the places of this
// rank's buffers. First in the note are the arguments that must be equal at all ranks;
// decodeNote decodes these. The places of this rank's buffers follow.
func (g *Group) makeNote(c *call) comm.Note {
	n := comm.Note{uint64(c.kind) | uint64(c.dtype)<<8 | uint64(c.op)<<16 | uint64(c.algorithm)<<24 | uint64(c.root)<<32, uint64(c.count)}
	src, dst := g.findPlace(c.src), g.findPlace(c.dst)
	n[2], n[3], n[4], n[5] = uint64(src.window), uint64(src.off), uint64(dst.window), uint64(dst.off)
	c.srcPlaces[g.rank], c.dstPlaces[g.rank] = src, dst
	return n
}

// findPlace returns the position of buffer b in a window of the communicator, or the zero
// place if b is private memory.
func (g *Group) findPlace(b []byte) place {
	if w, off := g.comm.Find(b); w != nil {
		return place{w.ID(), off}
	}
	return place{}
}

// locateBuffers sets srcPlaces and dstPlaces of the call for a peer. It reads the places
// from `theirs`, the note of the peer. It returns an error if this rank has closed the
// window of one of these buffers.
func (g *Group) locateBuffers(c *call, peer int, theirs *comm.Note) error {
	c.srcPlaces[peer] = place{int(theirs[2]), int64(theirs[3])}
	c.dstPlaces[peer] = place{int(theirs[4]), int64(theirs[5])}
	for _, at := range [...]place{c.srcPlaces[peer], c.dstPlaces[peer]} {
		if at.window != 0 && g.comm.Window(at.window) == nil {
			return g.comm.Fail(c.kind.String(), "entry", peer, fmt.Errorf("the window of that rank's buffer: %w here", comm.ErrClosed))
		}
	}
	return nil
}

// compareNotes returns an error if the arguments in `theirs`, the note of a peer, differ
// from the arguments in this rank's note.
func (g *Group) compareNotes(peer int, theirs *comm.Note) error {
	if g.ownNote[0] == theirs[0] && g.ownNote[1] == theirs[1] {
		return nil
	}
	a, b := decodeNote(&g.ownNote), decodeNote(theirs)
	fields := []struct {
		what      string
		mine, its any
	}{
		{"collective", a.kind, b.kind}, {"dtype", a.dtype, b.dtype}, {"count", a.count, b.count},
		{"operation", a.op, b.op}, {"algorithm", a.algorithm, b.algorithm}, {"root", a.root, b.root},
	}
	first, ranks := 0, g.comm.Ranks()
	for fields[first].mine == fields[first].its {
		first++
	}
	return g.comm.Fail(a.kind.String(), "entry", peer, fmt.Errorf("%w: the %s is %v at rank %d and %v at rank %d",
		comm.ErrMismatch, fields[first].what, fields[first].mine, ranks[g.rank], fields[first].its, ranks[peer]))
}

// decodeNote returns a call with the arguments that n encodes. It leaves out the places of
// the buffers.
func decodeNote(n *comm.Note) call {
	return call{kind: Kind(n[0]), dtype: numeric.DType(n[0] >> 8), op: Op(n[0] >> 16), algorithm: Algorithm(n[0] >> 24), root: int(n[0] >> 32), count: int(n[1])}
}

// Op is an operation that combines elements.
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

// numeric returns the operation of package numeric that combines two operands. For Avg it
// is an addition; Group.combine divides the sum at the end.
func (o Op) numeric() numeric.Op {
	return [...]numeric.Op{numeric.Add, numeric.Mul, numeric.Minimum, numeric.Maximum, numeric.Add}[o]
}

// Algorithm is a way to do an all_reduce or a reduce, with a name of package ccl.
type Algorithm uint8

// The algorithms. In DirectOnePhase every rank that wants the result reads the data of all
// other ranks. In Direct each rank reduces a part, and the other ranks copy the result of
// that part.
const (
	Auto Algorithm = iota
	DirectOnePhase
	Direct
)

var algorithmNames = [...]string{"auto", "direct_one_phase", "direct"}

func (a Algorithm) String() string { return printable.Name("Algorithm", a, algorithmNames[:]) }
