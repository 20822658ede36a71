package tl

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// ReducePeers returns a command that reduces a block of a window over peers into local
// memory. The command reads the block from each peer's part of the window, at the offset
// that x has in this PE's own part. It combines the blocks with op and writes the result
// to out, converted to out's dtype. The peers are ranks of the launch, each at most once.
// Without peers, they are all ranks in ascending order, including this rank. op is OpAdd,
// OpMul, OpMaximum, OpMinimum or, for integers, OpAnd, OpOr or OpXor. The command computes
// in dtype, which must be the dtype of x, in the order of the peers:
//
//	(x of peers[0] op x of peers[1]) op x of peers[2] ...
//
// So the result has the same bits as a loop of [PE.Get] and [Tile.Add]. The block may be
// far larger than TCM: the command reads it in parts, and reads the next parts while it
// combines one.
//
//	t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, out, x, tl.Shape{n}, tl.F32)))
//
// Signals order the command with the peers. Each peer calls [PE.Notify] when its block is
// ready. When [PE.Wait] has returned, this PE notifies the peers that their blocks have
// been read.
func ReducePeers(op Op, out, x Ptr, s Shape, dtype DType, peers ...int) Command {
	return Command{kind: oplog.ReducePeers, math: op, out: out, x: x, shape: slices.Clone(s), dtype: dtype, peers: slices.Clone(peers)}
}

// reducePeers fills in c, a reduction over peers, from cmd, except for the epilogue of c.
func (t *PE) reducePeers(c *Composite, cmd *Command) error {
	s, err := extents(cmd.shape)
	if err != nil {
		return err
	}
	if !cmd.dtype.Valid() {
		return errDType
	}
	switch cmd.math {
	case numeric.Add, numeric.Mul, numeric.Maximum, numeric.Minimum, numeric.BitAnd, numeric.BitOr, numeric.BitXor:
	default:
		return fmt.Errorf("%v is no reduction: use OpAdd, OpMul, OpMaximum, OpMinimum, OpAnd, OpOr or OpXor", cmd.math)
	}
	if err := checkDefined(cmd.math, cmd.dtype, nil); err != nil {
		return err
	}
	peers, err := t.distinctPeers(cmd.peers)
	if err != nil {
		return err
	}
	var from Block
	if err := from.inWindow(&cmd.x, s, cmd.dtype, nil); err != nil {
		return err
	}
	if err := c.Out.set(&cmd.out, s, cmd.out.DType, nil); err != nil {
		return err
	}
	if err := c.Out.inShard(); err != nil {
		return err
	}
	if s.Rank > 2 && !(from.flatten() && c.Out.flatten()) {
		return errors.New("a block of more than two axes that is not in one piece: reduce its matrices one by one")
	}
	at := from.Ptr // a copy, so that only the pointer escapes to the heap
	for _, peer := range peers {
		c.Args = append(c.Args, Arg{Value: Value{Shape: from.Shape, DType: cmd.dtype, InMem: true, Ptr: &at}, AtPeer: true, Peer: peer})
	}
	return nil
}

// distinctPeers returns the ranks that a reduction reads: `peers`, or all ranks if `peers`
// is nil. It returns an error for an empty list, a rank that does not exist, or a rank that
// is given twice.
func (t *PE) distinctPeers(peers []int) ([]int, error) {
	if peers == nil {
		return lists.Count(0, t.place.Ranks), nil
	}
	if len(peers) == 0 {
		return nil, errors.New("an empty list of peers: name one at least, or leave the list out for all ranks")
	}
	for i, peer := range peers {
		if err := t.checkPeer(peer); err != nil {
			return nil, err
		}
		if slices.Contains(peers[:i], peer) {
			return nil, fmt.Errorf("rank %d twice: name each peer once", peer)
		}
	}
	return peers, nil
}

// flatten changes b to a block with one axis if its elements are contiguous in memory and
// few enough for one axis. It reports whether it changed b.
func (b *Block) flatten() bool {
	dense := int64(1)
	for i := int(b.Shape.Rank) - 1; i >= 0; i-- {
		if n := b.Shape.Dim[i]; n > 1 && b.Ptr.Stride[i] != dense {
			return false
		}
		dense *= int64(b.Shape.Dim[i])
	}
	if dense > math.MaxInt32 {
		return false
	}
	b.Shape = oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{int32(dense)}}
	b.Valid = b.Shape
	b.Ptr.Rank, b.Ptr.Stride = 1, [4]int64{1}
	return true
}
