package oplog

import (
	"math"

	"github.com/kernbench/kernbench/numeric"
)

// log writes or reads the tables of a log, and checks that no operation refers to an
// operation after the last.
func (c *coder) log(l *Log) {
	table(c, "PE", &l.PEs, (*coder).text)
	table(c, "line", &l.Lines, (*coder).text)
	table(c, "launch", &l.Launches, (*coder).launch)
	table(c, "operation", &l.Ops, (*coder).op)
	// Operands may refer to later operations, so they can be checked only now.
	last := ID(len(l.Ops))
	if c.maxRef > last {
		c.part, c.index = "operation", c.maxRefBy
		c.fail("it refers to operation %d, the last one is %d; %s", c.maxRef, last, c.advice())
	}
	table(c, "effect", &l.Effects, func(c *coder, e *Effect) { c.effect(e, last) })
}

// launch writes or reads a launch.
func (c *coder) launch(l *Launch) {
	c.text(&l.Name)
	n := c.count(len(l.PEs))
	elements(c, &l.PEs, n, func(c *coder, pe *int32) {
		c.begin()
		number(c, "its PE", pe, 0, math.MaxInt32)
		c.finish()
	})
}

// effect writes or reads an effect. The file stores the ID of the effect's operation as the
// difference from the operation ID of the previous effect. The ID itself must be at most
// `last`.
func (c *coder) effect(e *Effect, last ID) {
	c.begin()
	relative(c, &e.Op, c.lastEffect)
	number(c, "its phase", &e.Phase, int64(Read), int64(Write))
	c.finish()
	if e.Op < 1 || e.Op > last {
		c.fail("it is one of operation %d, the last one is %d; %s", e.Op, last, c.advice())
	}
	c.lastEffect = e.Op
}

// op writes or reads an operation.
func (c *coder) op(op *Op) {
	if c.reading() {
		op.ID = ID(c.index)
	}
	if op.ID != ID(c.index) {
		c.fail("its ID is %d; add operations with Log.Add", op.ID)
	}
	c.begin()
	number(c, "its kind", &op.Kind, 1, int64(NumKinds)-1)
	c.math(&op.Math)
	number(c, "its axis", &op.Axis, 0, MaxRank-1)
	c.dtype(&op.DType)
	c.shape(&op.Shape)
	c.shape(&op.Box)
	float(c, &op.Fill)
	number(c, "its PE", &op.PE, -1, math.MaxInt32)
	number(c, "its launch", &op.Launch, -1, math.MaxInt32)
	number(c, "its line", &op.Line, 0, math.MaxInt32)
	for _, v := range []*int32{&op.Peer, &op.Port, &op.Signal, &op.Tiles} {
		number(c, "its peer, port, signal or tile count", v, math.MinInt32, math.MaxInt32)
	}
	relative(c, &op.Issue, c.issue)
	relative(c, &op.Start, op.Issue)
	relative(c, &op.End, op.Start)
	c.issue = op.Issue
	c.refer(&op.Cause)
	digest := int64(op.Digest)
	any64(c, &digest)
	op.Digest = uint64(digest)
	args := length(c, "the number of operands", op.Args)
	mem := length(c, "the number of accesses", op.Mem)
	steps := length(c, "the number of epilogue steps", op.Epilogue)
	data := length(c, "the number of bytes of data", op.Data)
	c.finish()
	elements(c, &op.Args, args, (*coder).operand)
	elements(c, &op.Mem, mem, (*coder).access)
	elements(c, &op.Epilogue, steps, (*coder).step)
	c.raw(&op.Data, data)
}

// step writes or reads a step of an epilogue.
func (c *coder) step(s *Step) {
	c.begin()
	c.math(&s.Math)
	n := length(c, "the number of operands of a step", s.Args)
	c.finish()
	elements(c, &s.Args, n, (*coder).operand)
}

// operand writes or reads an operand.
func (c *coder) operand(o *Operand) {
	c.begin()
	c.refer(&o.From)
	c.shape(&o.Shape)
	c.dtype(&o.DType)
	float(c, &o.Scalar)
	mem := length(c, "the number of accesses of an operand", o.Mem)
	c.finish()
	elements(c, &o.Mem, mem, (*coder).access)
}

// refer writes or reads *id, the ID of an operation that another operation refers to, or 0
// for none. It keeps the largest such ID for the check in log.
func (c *coder) refer(id *ID) {
	number(c, "an operation it refers to", id, 0, math.MaxInt64)
	if *id > c.maxRef {
		c.maxRef, c.maxRefBy = *id, c.index
	}
}

// access writes or reads an access to memory.
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

// shape writes or reads a shape.
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

// math writes or reads an operation of package numeric, or 0 for none.
func (c *coder) math(op *numeric.Op) {
	number(c, "its operation", op, 0, int64(numeric.BitXor))
}

// dtype writes or reads a dtype.
func (c *coder) dtype(d *numeric.DType) {
	number(c, "a dtype", d, 0, int64(numeric.U64))
}
