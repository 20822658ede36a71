package oplog

import (
	"math"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
)

// log codes the tables of a log.
func (c *coder) log(l *Log) {
	table(c, "PE", &l.PEs, (*coder).text)
	table(c, "line", &l.Lines, (*coder).text)
	table(c, "launch", &l.Launches, (*coder).launch)
	ops := operations{coder: c}
	table(c, "operation", &l.Ops, func(_ *coder, op *Op) { ops.op(op) })
	// Operands may refer to operations behind their own, so that their range is
	// known only now.
	if last := ID(len(l.Ops)); ops.furthest > last {
		c.part, c.index = "operation", ops.furthestBy
		c.fail("it refers to operation %d, the last one is %d; %s", ops.furthest, last, c.advice())
	}
	previous := ID(0)
	table(c, "effect", &l.Effects, func(c *coder, e *Effect) { c.effect(e, &previous, ID(len(l.Ops))) })
}

func (c *coder) launch(l *Launch) {
	c.text(&l.Name)
	n := c.count(len(l.PEs))
	elements(c, &l.PEs, n, func(c *coder, pe *int32) {
		c.begin()
		number(c, "its PE", pe, 0, math.MaxInt32)
		c.finish()
	})
}

// effect codes an effect relative to the one before it.
func (c *coder) effect(e *Effect, previous *ID, last ID) {
	c.begin()
	relative(c, &e.Op, *previous)
	number(c, "its phase", &e.Phase, int64(Read), int64(Write))
	c.finish()
	if e.Op < 1 || e.Op > last {
		c.fail("it is one of operation %d, the last one is %d; %s", e.Op, last, c.advice())
	}
	*previous = e.Op
}

// operations codes operations one after another.
type operations struct {
	*coder
	issue      simtime.Time // of the operation before
	furthest   ID           // that any operation refers to
	furthestBy int
}

func (c *operations) op(op *Op) {
	if c.reading() {
		op.ID = ID(c.index)
	}
	if op.ID != ID(c.index) {
		c.fail("its ID is %d; add operations with Log.Add", op.ID)
	}
	c.begin()
	number(c.coder, "its kind", &op.Kind, 1, int64(NumKinds)-1)
	c.math(&op.Math)
	number(c.coder, "its axis", &op.Axis, 0, MaxRank-1)
	c.dtype(&op.DType)
	c.shape(&op.Shape)
	c.shape(&op.Box)
	float(c.coder, &op.Fill)
	number(c.coder, "its PE", &op.PE, -1, math.MaxInt32)
	number(c.coder, "its launch", &op.Launch, -1, math.MaxInt32)
	number(c.coder, "its line", &op.Line, 0, math.MaxInt32)
	for _, v := range []*int32{&op.Peer, &op.Port, &op.Signal, &op.Tiles} {
		number(c.coder, "its peer, port, signal or tile count", v, math.MinInt32, math.MaxInt32)
	}
	relative(c.coder, &op.Issue, c.issue)
	relative(c.coder, &op.Start, op.Issue)
	relative(c.coder, &op.End, op.Start)
	c.issue = op.Issue
	c.refer(&op.Cause)
	digest := int64(op.Digest)
	any64(c.coder, &digest)
	op.Digest = uint64(digest)
	args := length(c.coder, "the number of operands", op.Args)
	mem := length(c.coder, "the number of accesses", op.Mem)
	steps := length(c.coder, "the number of epilogue steps", op.Epilogue)
	data := length(c.coder, "the number of bytes of data", op.Data)
	c.finish()
	c.operands(&op.Args, args)
	elements(c.coder, &op.Mem, mem, (*coder).access)
	elements(c.coder, &op.Epilogue, steps, func(_ *coder, s *Step) { c.step(s) })
	c.raw(&op.Data, data)
}

func (c *operations) step(s *Step) {
	c.begin()
	c.math(&s.Math)
	n := length(c.coder, "the number of operands of a step", s.Args)
	c.finish()
	c.operands(&s.Args, n)
}

func (c *operations) operands(list *[]Operand, n int) {
	elements(c.coder, list, n, func(_ *coder, o *Operand) {
		c.begin()
		c.refer(&o.From)
		c.shape(&o.Shape)
		c.dtype(&o.DType)
		float(c.coder, &o.Scalar)
		mem := length(c.coder, "the number of accesses of an operand", o.Mem)
		c.finish()
		elements(c.coder, &o.Mem, mem, (*coder).access)
	})
}

// refer codes the ID of an operation, or none.
func (c *operations) refer(id *ID) {
	number(c.coder, "an operation it refers to", id, 0, math.MaxInt64)
	if *id > c.furthest {
		c.furthest, c.furthestBy = *id, c.index
	}
}

func (c *coder) access(a *Access) {
	c.begin()
	number(c, "the kind of memory of an access", &a.Space.Kind, int64(HBM), int64(TCM))
	for _, v := range []*int32{&a.Space.SIP, &a.Space.Cube, &a.Space.PE} {
		number(c, "the place of a memory", v, 0, math.MaxInt32)
	}
	any64(c, &a.Addr)
	number(c, "the rows of an access", &a.Rows, 0, math.MaxInt64)
	number(c, "the row bytes of an access", &a.RowBytes, 0, math.MaxInt64)
	any64(c, &a.Stride)
	c.finish()
}

func (c *coder) shape(s *Shape) {
	number(c, "the rank of a shape", &s.Rank, 0, MaxRank)
	for i := range s.Dim {
		most := int64(0)
		if i < int(s.Rank) {
			most = math.MaxInt32
		}
		number(c, "an extent of a shape", &s.Dim[i], 0, most)
	}
}

func (c *coder) math(op *numeric.Op) {
	number(c, "its operation", op, 0, int64(numeric.BitXor))
}

func (c *coder) dtype(d *numeric.DType) {
	number(c, "a dtype", d, 0, int64(numeric.U64))
}
