package exec

import (
	"os"
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

// at returns an access to n contiguous bytes of hbm.
func at(addr, n int64) []oplog.Access {
	return []oplog.Access{{Space: hbm, Addr: addr, Rows: 1, RowBytes: n, Stride: n}}
}

// values returns elements as bytes.
func values(d numeric.DType, v ...float64) []byte {
	b := make([]byte, len(v)*d.Size())
	for i, x := range v {
		numeric.Set(d, b, i, x)
	}
	return b
}

// builder builds logs by hand. Each operation takes effect at once.
type builder struct{ oplog.Log }

// op logs an operation of PE 0 and its effects.
func (b *builder) op(op oplog.Op, effects ...oplog.Phase) oplog.ID {
	id := b.Add(op)
	for _, p := range effects {
		b.Effect(id, p)
	}
	return id
}

// host logs that the host writes elements to hbm.
func (b *builder) host(addr int64, d numeric.DType, v ...float64) {
	data := values(d, v...)
	b.op(oplog.Op{Kind: oplog.HostWrite, PE: -1, Launch: -1, Mem: at(addr, int64(len(data))), Data: data}, oplog.Write)
}

// tile logs a tile of elements: the host writes them and a kernel loads them.
func (b *builder) tile(d numeric.DType, s oplog.Shape, v ...float64) oplog.Operand {
	const addr = 1 << 20
	b.host(addr, d, v...)
	id := b.op(oplog.Op{Kind: oplog.Load, DType: d, Shape: s, Mem: at(addr, int64(len(v)*d.Size()))}, oplog.Read)
	return tile(id, d, s)
}

func tile(id oplog.ID, d numeric.DType, s oplog.Shape) oplog.Operand {
	return oplog.Operand{From: id, Shape: s, DType: d}
}

func num(v float64) oplog.Operand { return oplog.Operand{Scalar: v} }

// read logs that the host reads n bytes of hbm.
func (b *builder) read(addr, n int64) oplog.ID {
	return b.op(oplog.Op{Kind: oplog.HostRead, PE: -1, Launch: -1, Mem: at(addr, n)}, oplog.Read)
}
