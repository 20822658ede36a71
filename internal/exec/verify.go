package exec

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// maxBytes is the size of the largest value in bytes. It is far larger than any tile, and
// prevents a damaged log from allocating all memory.
const maxBytes = 1 << 32

// sizeOf returns the size in bytes of a value with shape s and dtype d. It returns an error
// if the value is too large or the dtype is invalid.
func sizeOf(s oplog.Shape, d numeric.DType) (int, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("its dtype is %v, which is none", d)
	}
	n := d.Size()
	empty := false
	for _, x := range s.Dim[:s.Rank] {
		if x == 0 {
			empty = true
		} else if n > maxBytes/int(x) {
			return 0, fmt.Errorf("%v of %v is more than the %d bytes that a value may have", s, d, maxBytes)
		} else {
			n *= int(x)
		}
	}
	if empty {
		return 0, nil
	}
	return n, nil
}

// memBytes returns the total number of bytes of the accesses in mem, or an error if an
// access is invalid.
func memBytes(mem []oplog.Access) (int, error) {
	total := int64(0)
	for i := range mem {
		a := &mem[i]
		if a.Rows < 0 || a.RowBytes < 0 || a.RowBytes > 0 && a.Rows > (math.MaxInt64-total)/a.RowBytes {
			return 0, fmt.Errorf("an access of %d rows of %d bytes is none", a.Rows, a.RowBytes)
		}
		total += a.Bytes()
	}
	return int(total), nil
}

// bytes returns the size in bytes of the value of op, which must have been verified.
func (e *Executor) bytes(op *oplog.Op) int {
	if op.Kind == oplog.HostRead {
		n, _ := memBytes(op.Mem)
		return n
	}
	return op.Shape.Elems() * op.DType.Size()
}

func operandBytes(o *oplog.Operand) int { return o.Shape.Elems() * o.DType.Size() }

// verify returns an error that names op if op cannot be computed. If it returns nil,
// computing op cannot fail.
func (e *Executor) verify(op *oplog.Op) error {
	if err := e.check(op); err != nil {
		return e.fail(op.ID, "%w; correct what made the log", err)
	}
	return nil
}

// check returns an error that says why op cannot be computed, or nil if it can.
func (e *Executor) check(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Notify, oplog.WaitSignal, oplog.Barrier, oplog.Wait, oplog.TaskBegin, oplog.TaskEnd:
		return nil
	case oplog.Scratch, oplog.Zero, oplog.HostWrite, oplog.HostRead:
		n, err := memBytes(op.Mem)
		switch {
		case err != nil:
			return err
		case op.Kind == oplog.HostWrite && n != len(op.Data):
			return fmt.Errorf("it has %d bytes for %d bytes of memory", len(op.Data), n)
		case op.Kind == oplog.HostRead && n > maxBytes:
			return fmt.Errorf("it reads %d bytes, more than the %d that a value may have", n, maxBytes)
		}
		return nil
	}
	if op.Kind == 0 || op.Kind >= oplog.NumKinds {
		return errors.New("its kind is none")
	}
	if op.Kind != oplog.Send {
		if _, err := sizeOf(op.Shape, op.DType); err != nil {
			return err
		}
	}
	for o := range operands(op) {
		if err := e.checkOperand(op, o); err != nil {
			return err
		}
	}
	if err := e.checkMemory(op); err != nil {
		return err
	}
	return checkShapes(op)
}

// checkOperand returns an error if operand o of op is not allowed, or if its size differs
// from the size of the value or memory that it refers to. An operand must be a number or a
// tile. An operand of a composite or a send may also be in memory, and an operand of a
// receive is a send.
func (e *Executor) checkOperand(op *oplog.Op, o *oplog.Operand) error {
	shape, d := o.Shape, o.DType
	if op.Kind == oplog.Recv { // the shape is that of op, and the send may not be known
		shape, d = op.Shape, op.DType
	}
	if isNumber(o) {
		return nil
	}
	want, err := sizeOf(shape, d)
	if err != nil {
		return fmt.Errorf("an operand: %w", err)
	}
	if o.From == 0 {
		if op.Kind != oplog.Send && !op.Kind.IsComposite() {
			return errors.New("an operand is in memory: only composites and sends have such")
		}
		got, err := memBytes(o.Mem)
		if err == nil && got != want {
			err = fmt.Errorf("it has %d bytes", got)
		}
		if err != nil {
			return fmt.Errorf("an operand of %v %v is %d bytes of memory: %w", o.Shape, o.DType, want, err)
		}
		return nil
	}
	from := e.node(o.From)
	if len(o.Mem) > 0 || !isTile(from.kind) && !(op.Kind == oplog.Recv && from.kind == oplog.Send) {
		return fmt.Errorf("an operand is %s, which is no tile", e.describe(o.From))
	}
	if got, err := e.unverifiedBytes(o.From); err != nil || got != want {
		return fmt.Errorf("an operand of %v %v is %d bytes, but %s has %d", shape, d, want, e.describe(o.From), got)
	}
	return nil
}

// unverifiedBytes returns the size in bytes of the value of operation id. It may be called
// before the operation has been verified.
func (e *Executor) unverifiedBytes(id oplog.ID) (int, error) {
	if n := e.node(id); n.done && n.value != nil {
		return len(n.value.bytes), nil
	}
	op := e.op(id)
	if op.Kind == oplog.Send && len(op.Args) == 1 {
		return sizeOf(op.Args[0].Shape, op.Args[0].DType)
	}
	return sizeOf(op.Shape, op.DType)
}

// isTile reports whether operations of kind k produce a tile.
func isTile(k oplog.Kind) bool {
	return hasValue[k] && k != oplog.Send && k != oplog.HostRead && !k.IsComposite()
}

// checkMemory checks the memory of op. If op reads or writes memory, the memory must have
// the size of the box that op reads or writes there, and the box must fit into the shape of
// op. Operations that do not access memory must have none.
func (e *Executor) checkMemory(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Load, oplog.Store, oplog.Get, oplog.Put, oplog.Gemm, oplog.Stream, oplog.ReducePeers:
	case oplog.Recv:
		if len(op.Mem) == 0 {
			return nil
		}
	default:
		if len(op.Mem) > 0 {
			return fmt.Errorf("a %v has no memory of its own", op.Kind)
		}
		return nil
	}
	b := box(op)
	if b.Rank != op.Shape.Rank {
		return fmt.Errorf("its box %v has another rank than its shape %v", b, op.Shape)
	}
	for i := range b.Dim[:b.Rank] {
		if b.Dim[i] > op.Shape.Dim[i] {
			return fmt.Errorf("its box %v is larger than its shape %v", b, op.Shape)
		}
	}
	want := b.Elems() * op.DType.Size()
	got, err := memBytes(op.Mem)
	if err == nil && got != want {
		err = fmt.Errorf("%v %v has %d bytes, its memory %d", b, op.DType, want, got)
	}
	return err
}

// Replayed is the result of a replay.
type Replayed struct {
	Reads      int        // number of reads by hosts
	Unknown    int        // reads without a digest in the log, because the run computed no values
	Mismatched []oplog.ID // reads whose digest differs
}

// Replay executes a whole log in new memories, without a machine. It compares the bytes
// that the host reads with the digests of these reads in the log, and returns the result.
// It does not change the log. When ctx ends, it returns the cause of ctx.
func Replay(ctx context.Context, log *oplog.Log, threads int) (Replayed, error) {
	var r Replayed
	e := New(log, newMemories(), threads)
	e.keepTiles = false
	e.Poll = func() error { return context.Cause(ctx) }
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

// newMemories returns a function that returns the memory of a space, for an executor
// without a machine. It creates each memory on first use, filled with zeros and unlimited
// in size.
func newMemories() func(oplog.Space) *memory.Store {
	all := map[oplog.Space]*memory.Store{}
	return func(s oplog.Space) *memory.Store {
		if all[s] == nil {
			all[s] = &memory.Store{Memory: s, Size: math.MaxInt64}
		}
		return all[s]
	}
}

// digest returns the FNV-1a hash of bytes that a host has read. Logs record this hash.
func digest(parts ...[]byte) uint64 {
	h := fnv.New64a()
	for _, b := range parts {
		h.Write(b) // never fails
	}
	return h.Sum64()
}
