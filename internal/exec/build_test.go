package exec

import (
	"os"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

const (
	f16 = numeric.F16
	f32 = numeric.F32
	i32 = numeric.I32
	u8  = numeric.U8
)

// hbm is the memory that the logs of the builder use.
var hbm = oplog.Space{Kind: oplog.HBM}

func shape(dims ...int32) (s oplog.Shape) {
	s.Rank = int8(copy(s.Dim[:], dims))
	return s
}

// at returns an access to the n contiguous bytes of hbm that start at addr.
func at(addr, n int64) []oplog.Access {
	return []oplog.Access{{Space: hbm, Addr: addr, Rows: 1, RowBytes: n, Stride: n}}
}

// values returns the given numbers as the bytes of elements of dtype d.
func values(d numeric.DType, v ...float64) []byte {
	b := make([]byte, len(v)*d.Size())
	for i, x := range v {
		numeric.Set(d, b, i, x)
	}
	return b
}

// builder builds op logs by hand. The effects of each operation follow it in the log
// immediately.
type builder struct{ oplog.Log }

// op appends an operation to the log, followed by the given effects, and returns the number
// of the operation.
func (b *builder) op(op oplog.Op, effects ...oplog.Phase) oplog.ID {
	id := b.Add(op)
	for _, p := range effects {
		b.Effect(id, p)
	}
	return id
}

// host appends to the log an operation in which the host writes the elements v, of dtype d,
// to address `addr` of `hbm`.
func (b *builder) host(addr int64, d numeric.DType, v ...float64) {
	data := values(d, v...)
	b.op(oplog.Op{Kind: oplog.HostWrite, PE: -1, Launch: -1, Mem: at(addr, int64(len(data))), Data: data}, oplog.Write)
}

// tile appends a write of the host and a load by a kernel to the log. It returns the loaded
// tile, with elements v, as an operand.
func (b *builder) tile(d numeric.DType, s oplog.Shape, v ...float64) oplog.Operand {
	const addr = 1 << 20
	b.host(addr, d, v...)
	id := b.op(oplog.Op{Kind: oplog.Load, DType: d, Shape: s, Mem: at(addr, int64(len(v)*d.Size()))}, oplog.Read)
	return tile(id, d, s)
}

func tile(id oplog.ID, d numeric.DType, s oplog.Shape) oplog.Operand {
	return oplog.Operand{From: id, Shape: s, DType: d}
}

// result returns the bytes that the host read with operation id.
func result(e *Executor, id oplog.ID) []byte { return slices.Concat(e.Result(id)...) }

func num(v float64) oplog.Operand { return oplog.Operand{Scalar: v} }

// read appends a read of n bytes of hbm by the host to the log and returns its number.
func (b *builder) read(addr, n int64) oplog.ID {
	return b.op(oplog.Op{Kind: oplog.HostRead, PE: -1, Launch: -1, Mem: at(addr, n)}, oplog.Read)
}
