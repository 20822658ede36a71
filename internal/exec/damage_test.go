package exec

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// TestDamagedLogs checks that Replay and Races never panic on a log with random damage.
// They may return an error, or treat the damaged log as another valid log.
func TestDamagedLogs(t *testing.T) {
	failed := 0
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "damage"), 0))
		for range 1 + r.IntN(3) {
			damage(r, log)
		}
		if _, err := Replay(t.Context(), log, 2); err != nil {
			failed++
		}
		if _, err := Races(log); err != nil {
			failed++
		}
	})
	if failed == 0 {
		t.Error("no damage was found")
	}
}

// damage changes one random field of a random operation or effect of the log.
func damage(r *rand.Rand, log *oplog.Log) {
	op := &log.Ops[r.IntN(len(log.Ops))]
	number := func() int32 { return []int32{-1, 0, 1, 2, 3, 7, math.MaxInt32}[r.IntN(7)] }
	id := func() oplog.ID { return oplog.ID(r.IntN(len(log.Ops)+3) - 1) }
	dtype := func() numeric.DType { return numeric.DType(r.IntN(15)) }
	resize := func(s *oplog.Shape) {
		if r.IntN(2) == 0 {
			s.Dim[r.IntN(oplog.MaxRank)] = number()
		} else {
			s.Rank = int8(r.IntN(oplog.MaxRank + 1))
		}
	}
	move := func(mem []oplog.Access) {
		if len(mem) == 0 {
			return
		}
		a := &mem[r.IntN(len(mem))]
		*[]*int64{&a.Addr, &a.Rows, &a.RowBytes, &a.Stride}[r.IntN(4)] = []int64{-1, 0, 1, 5, math.MaxInt64}[r.IntN(5)]
	}
	switch r.IntN(12) {
	case 0:
		op.Kind = oplog.Kind(r.IntN(int(oplog.NumKinds) + 2))
	case 1:
		op.Math = numeric.Op(r.IntN(int(numeric.BitXor) + 3))
	case 2:
		op.Axis = int8(number())
	case 3:
		op.DType = dtype()
	case 4:
		resize(&op.Shape)
	case 5:
		resize(&op.Box)
	case 6:
		move(op.Mem)
	case 7:
		op.Args = append(op.Args, oplog.Operand{From: id()})
	case 8:
		op.Args = op.Args[:len(op.Args)/2]
	case 9:
		log.Effects[r.IntN(len(log.Effects))] = oplog.Effect{Op: id(), Phase: oplog.Phase(r.IntN(2))}
	case 10:
		op.PE, op.Launch = number(), number()
	case 11:
		if len(op.Args) == 0 {
			return
		}
		arg := &op.Args[r.IntN(len(op.Args))]
		switch r.IntN(4) {
		case 0:
			arg.From = id()
		case 1:
			arg.DType = dtype()
		case 2:
			resize(&arg.Shape)
		case 3:
			move(arg.Mem)
		}
	}
}
