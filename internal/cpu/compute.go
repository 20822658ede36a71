package cpu

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Compute computes a tile from other tiles, on the GEMM or the MATH engine.
func (c *Core) Compute(v *tl.Value, cmd *tl.Compute) error {
	if err := c.tick(); err != nil {
		return err
	}
	var tiles [len(cmd.Args)]int32
	n := memory.Bytes(v.Bytes())
	var fetched memory.Bytes
	for i := range cmd.Args[:cmd.N] {
		arg := &cmd.Args[i]
		if arg.IsScalar {
			continue
		}
		if err := c.use(&arg.Value); err != nil {
			return err
		}
		tiles[i] = arg.Value.Slot
		fetched += memory.Bytes(arg.Value.Bytes())
	}
	if cmd.Kind == oplog.Reshape { // the result shares the bytes of the operand
		v.Slot, v.Turn = cmd.Args[0].Value.Slot, cmd.Args[0].Value.Turn
		if c.m.Log != nil {
			c.recordCompute(v, cmd)
		}
		return nil
	}
	if err := c.newTileOf(v, n, 0, tiles[:]); err != nil {
		return err
	}
	// The command is not on the stack, whose memory is rarely in the cache. No other core
	// runs before Push returns.
	run, costs := &c.m.command, &c.m.costs
	run.ID, run.Unit, run.At, run.Args, run.Result = 0, pe.MATH, c.arrival(), tiles, v.Slot
	run.Fetch, run.Store = costs.Fetch(fetched), costs.Store(n)
	if c.trace != nil {
		run.Name = computeName(cmd)
	}
	switch cmd.Kind {
	case oplog.Dot:
		a, b := &cmd.Args[0].Value.Shape, &cmd.Args[1].Value.Shape
		run.Unit, run.Run = pe.GEMM, costs.Gemm(int(a.Dim[0]), int(a.Dim[1]), int(b.Dim[1]))
	case oplog.Reduce, oplog.Softmax:
		run.Run = costs.Math(mathOp(cmd), cmd.Args[0].Value.Shape.Elems())
	default:
		run.Run = costs.Math(mathOp(cmd), v.Shape.Elems())
	}
	if c.m.Log != nil {
		c.recordCompute(v, cmd)
		run.ID = v.ID
	}
	c.pe.Pipeline.Push(run)
	return nil
}

// computeName returns the name of a command in traces: "exp", "dot 64×64×64".
func computeName(cmd *tl.Compute) string {
	switch cmd.Kind {
	case oplog.Dot:
		a, b := &cmd.Args[0].Value.Shape, &cmd.Args[1].Value.Shape
		return fmt.Sprintf("dot %d×%d×%d", a.Dim[0], a.Dim[1], b.Dim[1])
	case oplog.Math, oplog.Reduce:
		return cmd.Math.String()
	}
	return strings.ToLower(cmd.Kind.String())
}

// mathOp returns the elementwise operation that has the same cost as a command. Commands
// that only move elements, such as a transposition, cost as much as an addition.
func mathOp(cmd *tl.Compute) numeric.Op {
	switch cmd.Kind {
	case oplog.Math, oplog.Reduce:
		return cmd.Math
	case oplog.Softmax:
		return numeric.SoftmaxOp
	}
	return numeric.Add
}

// recordCompute adds a command that makes tile v to the op log. The record would make the
// stack frame of the caller large.
//
//go:noinline
func (c *Core) recordCompute(v *tl.Value, cmd *tl.Compute) {
	op := c.newRecord(cmd.Kind)
	op.Math, op.Axis, op.Fill = cmd.Math, int8(cmd.Axis), cmd.Fill
	op.Shape, op.DType = v.Shape, v.DType
	op.Start, op.End = c.now, c.now
	op.Args = args(cmd.Args[:cmd.N], v.DType)
	v.ID = c.m.Log.Add(op)
	c.recordMaker(v)
}

// args converts operands to operands of the op log. Numbers have the dtype of the last tile
// among the operands, or dtype d if there is no tile.
func args(list []tl.Arg, d numeric.DType) []oplog.Operand {
	if len(list) == 0 {
		return nil
	}
	out := make([]oplog.Operand, len(list))
	for i := range list {
		if v := &list[i].Value; !list[i].IsScalar {
			d = v.DType // the last tile decides, because the first tile of Where is the condition
			out[i] = operand(v)
		}
	}
	for i := range list {
		if list[i].IsScalar {
			out[i] = oplog.Operand{Scalar: list[i].Scalar, DType: d}
		}
	}
	return out
}
