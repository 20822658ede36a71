package exec

import (
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

const (
	randomPEs   = 3
	randomBytes = 512 // size of each memory that random logs use
)

var randomSpaces = []oplog.Space{{Kind: oplog.HBM}, {Kind: oplog.HBM, PE: 1}, {Kind: oplog.SRAM}, {Kind: oplog.TCM, PE: 2}}

// logGenerator builds a random log in which operations of several PEs overlap. Effects
// come any time after their operation, and receives may come before their sends.
type logGenerator struct {
	*rand.Rand
	log     oplog.Log
	tiles   [randomPEs][]oplog.Operand
	pending []oplog.Effect    // effects that have not happened
	read    map[oplog.ID]bool // operations whose read effect has happened
	unsent  []oplog.ID        // receives without a send
	unread  []oplog.ID        // sends without a receive
	pe      int32             // the PE of the next operation
}

// randomLog returns a random log that writes all memories first and reads them at the end.
func randomLog(t *rapid.T) *oplog.Log {
	// Most numbers that rapid draws are small, so rapid draws only the seed.
	noise := rand.NewChaCha8([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")))
	p := &logGenerator{Rand: rand.New(noise), read: map[oplog.ID]bool{}}
	p.log.PEs = []string{"pe0", "pe1", "pe2"}
	p.log.Launches = []oplog.Launch{{Name: "random", PEs: []int32{0, 1, 2}}}
	for _, s := range randomSpaces {
		data := make([]byte, randomBytes)
		noise.Read(data)
		id := p.log.Add(oplog.Op{Kind: oplog.HostWrite, PE: -1, Launch: -1, Mem: []oplog.Access{{Space: s, Rows: 1, RowBytes: randomBytes}}, Data: data})
		p.log.Effect(id, oplog.Write)
	}
	for range rapid.SampledFrom([]int{1, 10, 50, 200}).Draw(t, "steps") {
		p.pe = p.Int32N(randomPEs)
		p.step()
	}
	for _, id := range p.unsent { // send what receives wait for
		p.send(id)
	}
	for p.applyPending() {
	}
	for _, s := range randomSpaces {
		id := p.log.Add(oplog.Op{Kind: oplog.HostRead, PE: -1, Launch: -1, Mem: []oplog.Access{{Space: s, Rows: randomBytes / 32, RowBytes: 32, Stride: 32}}})
		p.log.Effect(id, oplog.Read)
	}
	return &p.log
}

func (p *logGenerator) dim() int32 { return p.Int32N(5) }

func (p *logGenerator) dtype() numeric.DType { return numeric.DTypes[p.IntN(len(numeric.DTypes))] }

func (p *logGenerator) number() float64 {
	return pick(p, []float64{0, 1, -1, 0.1, -2.5, 300, math.Inf(-1)})
}

func pick[T any](p *logGenerator, from []T) T { return from[p.IntN(len(from))] }

func (p *logGenerator) step() {
	switch p.IntN(16) {
	case 0, 1, 2:
		p.applyPending()
	case 3, 4:
		p.load(p.dtype(), p.shape())
	case 5, 6:
		p.store()
	case 7:
		p.math()
	case 8:
		p.dot()
	case 9:
		p.unary()
	case 10:
		p.send(0)
	case 11:
		p.recv()
	case 12:
		p.composite()
	case 13:
		p.addTile(oplog.Op{Kind: oplog.Full, DType: p.dtype(), Shape: p.shape(), Fill: p.number()})
	case 14:
		p.addTile(oplog.Op{Kind: oplog.Arange, DType: p.dtype(), Shape: shape(p.dim())})
	case 15:
		p.pending = append(p.pending, oplog.Effect{Op: p.add(oplog.Op{Kind: oplog.Scratch, Mem: p.mem(p.IntN(64))}), Phase: oplog.Write})
	}
}

func (p *logGenerator) shape() (s oplog.Shape) {
	s.Rank = int8(p.IntN(4))
	for i := range s.Dim[:s.Rank] {
		s.Dim[i] = p.dim()
	}
	return s
}

// mem returns random accesses of n bytes in total. They are a contiguous piece, a piece
// that consists of rows of one or two bytes, or both. For n = 0 there are none.
func (p *logGenerator) mem(n int) (mem []oplog.Access) {
	piece := func(rows, bytes int) {
		stride := bytes + p.IntN(3)
		mem = append(mem, oplog.Access{
			Space: pick(p, randomSpaces),
			Addr:  int64(p.IntN(max(1, randomBytes-rows*stride))),
			Rows:  int64(rows), RowBytes: int64(bytes), Stride: int64(stride),
		})
	}
	first := p.IntN(n + 1)
	if first > 0 {
		piece(1, first)
	}
	if rest := n - first; rest%2 == 0 && rest > 0 {
		piece(rest/2, 2)
	} else if rest > 0 {
		piece(rest, 1)
	}
	return mem
}

func (p *logGenerator) add(op oplog.Op) oplog.ID {
	op.PE = p.pe
	return p.log.Add(op)
}

// addTile appends op, which produces a tile, to the log and returns the tile as an operand.
func (p *logGenerator) addTile(op oplog.Op) oplog.Operand {
	o := tile(p.add(op), op.DType, op.Shape)
	p.tiles[p.pe] = append(p.tiles[p.pe], o)
	return o
}

func (p *logGenerator) load(d numeric.DType, s oplog.Shape) oplog.Operand {
	op := oplog.Op{Kind: oplog.Load, DType: d, Shape: s}
	if p.IntN(2) == 0 {
		op.Kind = oplog.Get
	}
	p.mask(&op)
	op.Mem = p.mem(box(&op).Elems() * d.Size())
	o := p.addTile(op)
	p.pending = append(p.pending, oplog.Effect{Op: o.From, Phase: oplog.Read})
	return o
}

// mask makes op a masked operation with a random box, in half of the calls.
func (p *logGenerator) mask(op *oplog.Op) {
	if p.IntN(2) == 0 {
		return
	}
	op.Box, op.Fill = op.Shape, p.number()
	for i := range op.Box.Dim[:op.Box.Rank] {
		op.Box.Dim[i] = int32(p.IntN(int(op.Box.Dim[i]) + 1))
	}
}

// anyTile returns a random tile of the current PE. If the PE has none, it loads one.
func (p *logGenerator) anyTile() oplog.Operand {
	if len(p.tiles[p.pe]) == 0 {
		return p.load(p.dtype(), p.shape())
	}
	return pick(p, p.tiles[p.pe])
}

func (p *logGenerator) store() {
	x := p.anyTile()
	op := oplog.Op{Kind: oplog.Store, DType: x.DType, Shape: x.Shape, Args: []oplog.Operand{x}}
	if p.IntN(2) == 0 {
		op.Kind = oplog.Put
	}
	p.mask(&op)
	op.Mem = p.mem(box(&op).Elems() * op.DType.Size())
	p.pending = append(p.pending, oplog.Effect{Op: p.add(op), Phase: oplog.Write})
}

// broadcastOperand returns a random operand of dtype d that can be broadcast to the shape
// `to`. It is a number, a tile, or memory if inMemory is true.
func (p *logGenerator) broadcastOperand(d numeric.DType, to oplog.Shape, inMemory bool) oplog.Operand {
	s := to
	for i := range s.Dim[:s.Rank] {
		if p.IntN(3) == 0 {
			s.Dim[i] = 1
		}
	}
	if s.Rank > 0 && p.IntN(3) == 0 {
		s = oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{s.Dim[s.Rank-1]}}
	}
	switch kind := p.IntN(3); {
	case kind == 0:
		return num(p.number())
	case kind == 1 && inMemory:
		return oplog.Operand{Mem: p.mem(s.Elems() * d.Size()), Shape: s, DType: d}
	}
	return p.load(d, s)
}

func (p *logGenerator) elementwise(d numeric.DType) numeric.Op {
	op := numeric.Add + numeric.Op(p.IntN(int(numeric.BitXor)))
	if !op.IsElementwise() || !numeric.Supports(op, d) {
		return numeric.Add
	}
	return op
}

// addOperands adds random operands to the elementwise operation op. They have dtype d,
// except the condition of Where, which has dtype u8. The first operand has the shape of the
// result. If inMemory is set, operands may be in memory.
func (p *logGenerator) addOperands(op *oplog.Op, d numeric.DType, inMemory bool) {
	for i := range op.Math.Arity() {
		of := d
		if op.Math == numeric.Where && i == 0 {
			of = u8
		}
		if i == 0 {
			op.Args = append(op.Args, p.load(of, op.Shape))
			continue
		}
		op.Args = append(op.Args, p.broadcastOperand(of, op.Shape, inMemory))
	}
}

func (p *logGenerator) math() {
	d := p.dtype()
	op := oplog.Op{Kind: oplog.Math, Math: p.elementwise(d), Shape: p.shape()}
	op.DType = op.Math.Result(d)
	p.addOperands(&op, d, false)
	p.addTile(op)
}

func (p *logGenerator) dot() {
	d, m, k, n := p.dtype(), p.dim(), p.dim(), p.dim()
	op := oplog.Op{Kind: oplog.Dot, DType: numeric.DotType(d), Shape: shape(m, n), Args: []oplog.Operand{p.load(d, shape(m, k)), p.load(d, shape(k, n))}}
	if p.IntN(2) == 0 {
		op.Args = append(op.Args, p.load(op.DType, op.Shape))
	}
	p.addTile(op)
}

// unary appends a random operation on one tile to the log.
func (p *logGenerator) unary() {
	x := p.anyTile()
	op := oplog.Op{DType: x.DType, Shape: x.Shape, Args: []oplog.Operand{x}}
	switch last := x.Shape.Rank - 1; {
	case last < 0 || p.IntN(3) == 0:
		op.Kind, op.Shape = oplog.Reshape, shape(int32(x.Shape.Elems()), 1)
	case last > 0 && p.IntN(3) == 0:
		op.Kind = oplog.Trans
		op.Shape.Dim[last], op.Shape.Dim[last-1] = op.Shape.Dim[last-1], op.Shape.Dim[last]
	case x.DType.IsFloat() && p.IntN(3) == 0:
		op.Kind = oplog.Softmax
	case p.IntN(3) == 0:
		op.Kind, op.DType = oplog.Cast, p.dtype()
	case x.Shape.Rank < oplog.MaxRank && p.IntN(3) == 0:
		op.Kind = oplog.Broadcast
		op.Shape = oplog.Shape{Rank: x.Shape.Rank + 1, Dim: [oplog.MaxRank]int32{p.dim()}}
		copy(op.Shape.Dim[1:], x.Shape.Dim[:])
	default:
		op.Kind, op.Math = oplog.Reduce, numeric.Sum+numeric.Op(p.IntN(3))
		op.Axis = int8(p.IntN(int(x.Shape.Rank)))
		op.Shape = oplog.Shape{Rank: last}
		copy(op.Shape.Dim[:], append(append([]int32{}, x.Shape.Dim[:op.Axis]...), x.Shape.Dim[op.Axis+1:x.Shape.Rank]...))
	}
	p.addTile(op)
}

func (p *logGenerator) composite() {
	d := p.dtype()
	op := oplog.Op{Kind: oplog.Stream, Math: p.elementwise(d), DType: p.dtype(), Shape: p.shape()}
	var acc numeric.DType
	if p.IntN(3) == 0 {
		op.Kind, acc = oplog.ReducePeers, d
		op.Math = pick(p, []numeric.Op{numeric.Add, numeric.Mul, numeric.Maximum, numeric.Minimum})
		for range 1 + p.IntN(4) {
			op.Args = append(op.Args, oplog.Operand{Mem: p.mem(op.Shape.Elems() * d.Size()), Shape: op.Shape, DType: d})
		}
	} else if p.IntN(2) == 0 {
		m, k, n := p.dim(), p.dim(), p.dim()
		op.Kind, op.Math, op.Shape, acc = oplog.Gemm, 0, shape(m, n), numeric.DotType(d)
		op.Args = []oplog.Operand{p.matrix(d, m, k), p.matrix(d, k, n)}
	} else {
		p.addOperands(&op, d, true)
		acc = op.Math.Result(mathDType(&op)) // not of d, because all operands may be numbers
	}
	for range p.IntN(3) {
		s := oplog.Step{Math: p.elementwise(acc)}
		if s.Math.IsComparison() || s.Math == numeric.Where {
			s.Math = numeric.Maximum
		}
		for range s.Math.Arity() - 1 {
			s.Args = append(s.Args, p.broadcastOperand(p.dtype(), op.Shape, true))
		}
		op.Epilogue = append(op.Epilogue, s)
	}
	p.mask(&op)
	op.Fill = 0
	op.Mem = p.mem(box(&op).Elems() * op.DType.Size())
	id := p.add(op)
	p.pending = append(p.pending, oplog.Effect{Op: id, Phase: oplog.Read}, oplog.Effect{Op: id, Phase: oplog.Write})
}

func (p *logGenerator) matrix(d numeric.DType, m, n int32) oplog.Operand {
	if p.IntN(2) == 0 {
		return p.load(d, shape(m, n))
	}
	return oplog.Operand{Mem: p.mem(int(m*n) * d.Size()), Shape: shape(m, n), DType: d}
}

// send appends a send to the log. It sends the message for receive `to`. If `to` is 0, it
// sends the message for the first receive without a send or, if there is none, a random
// value.
func (p *logGenerator) send(to oplog.ID) {
	if to == 0 && len(p.unsent) > 0 {
		to, p.unsent = p.unsent[0], p.unsent[1:]
	}
	x := p.anyTile()
	if to > 0 {
		x = p.load(p.log.Op(to).DType, p.log.Op(to).Shape)
	}
	if x.Shape.Elems() > 0 && p.IntN(2) == 0 {
		x.From, x.Mem = 0, p.mem(operandBytes(&x))
	}
	id := p.add(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{x}})
	if x.From == 0 {
		p.pending = append(p.pending, oplog.Effect{Op: id, Phase: oplog.Read})
	}
	if to > 0 {
		p.log.Op(to).Args[0].From = id
		return
	}
	p.unread = append(p.unread, id)
}

// recv appends a receive to the log. It receives a message that has been sent. If no
// message is left, it receives one that will be sent later.
func (p *logGenerator) recv() {
	op := oplog.Op{Kind: oplog.Recv, DType: p.dtype(), Shape: p.shape(), Args: make([]oplog.Operand, 1)}
	waits := len(p.unread) == 0
	if !waits {
		op.Args[0].From = p.unread[0]
		x := p.log.Op(p.unread[0]).Args[0]
		op.DType, op.Shape = x.DType, x.Shape
		p.unread = p.unread[1:]
	}
	var id oplog.ID
	if n := op.Shape.Elems(); n > 0 && p.IntN(2) == 0 {
		op.Mem = p.mem(n * op.DType.Size())
		id = p.add(op)
		p.pending = append(p.pending, oplog.Effect{Op: id, Phase: oplog.Write})
	} else {
		id = p.addTile(op).From
	}
	if waits {
		p.unsent = append(p.unsent, id)
	}
}

// applyPending picks a random pending effect that can happen now and appends it to the log.
// It reports whether there was such an effect.
func (p *logGenerator) applyPending() bool {
	var can []int
	for i, e := range p.pending {
		if e.Phase == oplog.Read || p.exists(e.Op) {
			can = append(can, i)
		}
	}
	if len(can) == 0 {
		return false
	}
	i := pick(p, can)
	e := p.pending[i]
	p.pending = append(p.pending[:i], p.pending[i+1:]...)
	p.read[e.Op] = p.read[e.Op] || e.Phase == oplog.Read
	p.log.Effects = append(p.log.Effects, e)
	return true
}

// exists reports whether the value that operation id produces or writes is known: its reads
// have happened and its operands exist.
func (p *logGenerator) exists(id oplog.ID) bool {
	op := p.log.Op(id)
	switch op.Kind {
	case oplog.Load, oplog.Get, oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		if !p.read[id] {
			return false
		}
	case oplog.Send:
		if op.Args[0].From == 0 && !p.read[id] {
			return false
		}
	case oplog.Recv:
		if op.Args[0].From == 0 {
			return false
		}
	}
	for o := range operands(op) {
		if o.From > 0 && !p.exists(o.From) {
			return false
		}
	}
	return true
}
