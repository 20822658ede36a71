package cpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Composite starts a command that streams tiles from memory to memory. It returns a handle
// with which the kernel can wait for the end of the command.
func (c *Core) Composite(cmd *tl.Composite) (tl.Handle, error) {
	if err := c.tick(); err != nil {
		return tl.Handle{}, err
	}
	b := builder{core: c}
	plan, err := b.plan(cmd)
	if err != nil {
		return tl.Handle{}, err
	}
	bytes, deep := c.pe.Tiles.Footprint(plan, b.tiles)
	if err := c.makeSpace(bytes, b.tiles...); err != nil {
		return tl.Handle{}, err
	}
	c.pe.Tiles.Reserve(bytes)
	t := transfer{kind: cmd.Kind, core: c, begins: 1, ends: 1, reserved: bytes}
	if c.m.Log != nil {
		t.id, t.number = c.m.Log.Add(b.record(cmd, plan.Steps())), len(c.m.Composites)
		c.m.Composites = append(c.m.Composites, Composite{Tiles: plan.Steps()})
	}
	comp := &pe.Composite{ID: t.id, At: c.arrival(), Args: b.tiles, Order: c.pe.DMA.Hold(t.id, b.reads, b.writes, true)}
	if c.trace != nil {
		comp.Name = compositeName(cmd, plan)
	}
	t.composite = comp
	comp.Begun, comp.Ended = c.m.addTransfer(t)
	h := c.newHandle(pending{composite: comp, id: t.id})
	c.pe.Pipeline.PushComposite(comp, plan, deep)
	return h, nil
}

// compositeName returns the name that the tiles of a composite have in traces:
// "gemm 512×512×512", "exp", or for a reduction over peers "reduce add".
func compositeName(cmd *tl.Composite, plan pe.Plan) string {
	if p, ok := plan.(*pe.GemmPlan); ok {
		return fmt.Sprintf("gemm %d×%d×%d", p.M, p.K, p.N)
	} else if cmd.Kind == oplog.ReducePeers {
		return "reduce " + cmd.Math.String()
	}
	return cmd.Math.String()
}

// builder turns a composite into a plan.
type builder struct {
	core          *Core
	tiles         []int32     // operands in TCM
	reads, writes []pe.Access // all memory that the composite accesses
}

// plan returns the plan of a composite. It returns an error if the result overlaps an
// operand in memory. There is one exception: unless the composite is a matrix product, the
// result may occupy exactly the memory of an operand.
func (b *builder) plan(cmd *tl.Composite) (pe.Plan, error) {
	c := b.core
	out := tl.Value{Shape: cmd.Out.Shape, DType: cmd.Out.DType, InMem: true, Ptr: &cmd.Out.Ptr}
	var err error
	args := make([]pe.Matrix, len(cmd.Args))
	for i := range cmd.Args {
		if args[i], err = b.operand(&cmd.Args[i], &out); err != nil {
			return nil, err
		}
	}
	to, err := b.matrix(&out, memory.Write, fabric.Compute)
	if err != nil {
		return nil, err
	}
	var epilogue pe.Epilogue
	if cmd.Kind == oplog.Stream {
		epilogue.Math = append(epilogue.Math, cmd.Math)
	}
	for _, step := range cmd.Epilogue {
		epilogue.Math = append(epilogue.Math, step.Math)
		for i := range step.Args {
			m, err := b.operand(&step.Args[i], &out)
			if err != nil {
				return nil, err
			}
			epilogue.Args = append(epilogue.Args, m)
		}
	}
	for i := range b.writes {
		for j := range b.reads {
			inPlace := cmd.Kind != oplog.Gemm && b.writes[i] == b.reads[j]
			if !inPlace && b.writes[i].Overlaps(&b.reads[j]) {
				return nil, errors.New("the result overlaps an operand in memory, which is read tile by tile while it is written: give it memory of its own")
			}
		}
	}
	rows, cols := matrixSize(out.Shape)
	result := pe.Result{Out: to, Epilogue: epilogue, Costs: c.m.costs}
	switch cmd.Kind {
	case oplog.Stream:
		return &pe.StreamPlan{Result: result, Rows: rows, Cols: cols, Chunk: pe.StreamChunk, Args: args}, nil
	case oplog.ReducePeers:
		return &pe.StreamPlan{Result: result, Rows: rows, Cols: cols, Chunk: pe.ReduceChunk, Args: args, Reduces: true, Math: cmd.Math}, nil
	}
	_, k := matrixSize(cmd.Args[0].Value.Shape)
	for i := range args {
		args[i].OneRow, args[i].OneCol = false, false // a product repeats no rows or columns
	}
	return &pe.GemmPlan{Result: result, M: rows, K: k, N: cols, Tile: c.m.Graph.Spec().PE.GEMM.Tile, A: args[0], B: args[1]}, nil
}

// matrixSize returns the number of rows and columns of a shape. Columns are the last axis;
// rows are the product of all other axes.
func matrixSize(s oplog.Shape) (rows, cols int) {
	rows, cols = 1, 1
	for i, n := range s.Dim[:s.Rank] {
		if i == int(s.Rank)-1 {
			cols = int(n)
		} else {
			rows *= int(n)
		}
	}
	return rows, cols
}

// operand converts argument a of a composite to an operand of the plan. A number or a tile
// in TCM needs no requests. If the argument is at a peer, operand also changes its pointer
// to an address in the peer's memory. `out` is the result of the composite.
func (b *builder) operand(a *tl.Arg, out *tl.Value) (pe.Matrix, error) {
	if a.IsScalar {
		return pe.Matrix{}, nil
	}
	rows, cols := matrixSize(a.Value.Shape)
	outRows, outCols := matrixSize(out.Shape)
	m := pe.Matrix{ElemBytes: memory.Bytes(a.Value.DType.Size())}
	if a.Value.InMem {
		if repeats := rows != 1 && rows != outRows; repeats && out.Shape.Rank > 2 && out.Shape.Elems() > 0 {
			return m, fmt.Errorf("%v is repeated along some of the leading axes of the result's %s and not along the others: do its matrices one by one, or load it", a.Value, out.Shape.String())
		}
		class := fabric.Compute
		if a.AtPeer {
			at := a.Value.Block()
			if err := b.core.moveToPeer(&at, a.Peer); err != nil {
				return m, err
			}
			a.Value.Ptr, class = &at.Ptr, fabric.Comm
		}
		var err error
		if m, err = b.matrix(&a.Value, memory.Read, class); err != nil {
			return m, err
		}
	} else {
		if err := b.core.use(&a.Value); err != nil {
			return m, err
		}
		b.tiles = append(b.tiles, a.Value.Slot)
	}
	m.OneRow, m.OneCol = rows == 1 && outRows > 1, cols == 1 && outCols > 1
	return m, nil
}

// matrix describes the memory of v, an operand or the result of a composite, for the plan.
// op is a read or a write. The transfers of this memory have the given class. matrix also
// adds the memory to b.reads or b.writes.
func (b *builder) matrix(v *tl.Value, op memory.Op, class fabric.Class) (pe.Matrix, error) {
	c := b.core
	rows, cols := matrixSize(v.Shape)
	at := v.Block()
	x := newBox(&at)
	stride, err := x.rowStride()
	if err != nil {
		return pe.Matrix{}, err
	}
	if v.Shape.Rank < 2 {
		stride = memory.Bytes(cols) * x.elem
	}
	if cols > 1 && x.stride[oplog.MaxRank-1] != x.elem {
		return pe.Matrix{}, fmt.Errorf("the elements of a row are not side by side: composites need dense rows")
	}
	whole, err := c.m.Find(nil, x.va, int64(rows), memory.Bytes(cols)*x.elem, stride)
	if err != nil {
		return pe.Matrix{}, err
	}
	if op == memory.Read {
		b.reads = append(b.reads, whole...)
	} else {
		b.writes = whole
	}
	var pieces []pe.Access
	return pe.Matrix{ElemBytes: x.elem, Requests: func(to []pe.Request, row, col, rows, cols int) []pe.Request {
		va := x.va + memory.VA(row)*memory.VA(stride) + memory.VA(col)*memory.VA(x.elem)
		if pieces, err = c.m.Find(pieces[:0], va, int64(rows), memory.Bytes(cols)*x.elem, stride); err != nil {
			panic(err) // Find succeeded above for the whole matrix
		}
		return c.appendRequests(to, pieces, op, class)
	}}, nil
}

// rowStride returns the distance in bytes between consecutive rows of the box. A row
// consists of the elements along the last axis. It is an error if the distance is not the
// same for all rows.
func (x *box) rowStride() (stride memory.Bytes, err error) {
	const last = oplog.MaxRank - 2
	stride, n := x.stride[last], x.extent[last]
	for i := last - 1; i >= 0; i-- {
		switch {
		case x.extent[i] == 1:
			continue
		case n == 1:
			stride = x.stride[i]
		case x.stride[i] != stride*memory.Bytes(n):
			return 0, errors.New("the rows of a block of more than two axes are not all equally far apart: do its matrices one by one")
		}
		n *= x.extent[i]
	}
	return stride, nil
}

// record returns the op-log record of cmd. `tiles` is the number of matrix tiles that the
// engines compute.
func (b *builder) record(cmd *tl.Composite, tiles int) oplog.Op {
	op := b.core.newRecord(cmd.Kind)
	op.Math, op.Shape, op.DType, op.Tiles = cmd.Math, cmd.Out.Shape, cmd.Out.DType, int32(tiles)
	op.Mem = Accesses(b.writes)
	op.Args = b.operands(cmd.Args, cmd.Out.DType)
	dtype := op.Args[0].DType // of the result before the epilogue
	if cmd.Kind == oplog.Gemm {
		dtype = numeric.DotType(dtype)
	}
	for _, s := range cmd.Epilogue {
		op.Epilogue = append(op.Epilogue, oplog.Step{Math: s.Math, Args: b.operands(s.Args, dtype)})
	}
	return op
}

// operands converts the operands of a composite to operands of the op log. Operands in
// memory also get their accesses. If all operands are numbers, they have dtype d; see args.
func (b *builder) operands(list []tl.Arg, d numeric.DType) []oplog.Operand {
	out := args(list, d)
	for i := range list {
		v := &list[i].Value
		if list[i].IsScalar || !v.InMem {
			continue
		}
		at := v.Block()
		x := newBox(&at)
		whole, err := b.core.m.find(nil, &x)
		if err != nil {
			panic(err) // plan has found the operand before
		}
		out[i].Mem = Accesses(whole)
	}
	return out
}

// pending is an operation that has a Handle: a composite or a receive.
type pending struct {
	handle    tl.Handle
	composite *pe.Composite
	receive   *receive
	id        oplog.ID
}

// newHandle adds an operation that the kernel may wait for and returns its handle.
func (c *Core) newHandle(p pending) tl.Handle {
	c.handles++
	p.handle.N = c.handles
	c.pending = append(c.pending, p)
	return p.handle
}

// Wait waits until the composite or the receive with handle h has ended.
func (c *Core) Wait(h tl.Handle) error {
	if err := c.tick(); err != nil {
		return err
	}
	i := slices.IndexFunc(c.pending, func(p pending) bool { return p.handle == h })
	if i < 0 {
		return nil // the kernel has waited for it before
	}
	p := c.pending[i]
	c.pending = slices.Delete(c.pending, i, i+1)
	if p.receive != nil {
		if err := c.await(p.receive); err != nil {
			return err
		}
	} else {
		began := c.now
		for !p.composite.Done() {
			c.pe.Pipeline.Await(c.proc, "the end of a composite command", c.now)
			c.catchUp()
		}
		c.traceWait("composite", began, c.proc.Woken)
	}
	if c.m.Log.Kept() {
		op := c.newRecord(oplog.Wait)
		op.Start, op.End = op.Issue, c.now
		op.Args = []oplog.Operand{{From: p.id}}
		op.Cause = p.id
		c.m.Log.Add(op)
	}
	return nil
}
