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
	randomBytes = 512 // of each memory that random logs use
)

var randomSpaces = []oplog.Space{{Kind: oplog.HBM}, {Kind: oplog.HBM, PE: 1}, {Kind: oplog.SRAM}, {Kind: oplog.TCM, PE: 2}}

// program draws a random log in which operations of several PEs overlap: effects come
// any time after their operation, and receives may come before their sends.
type program struct {
	*rand.Rand
	log     oplog.Log
	tiles   [randomPEs][]oplog.Operand
	pending []oplog.Effect
	read    map[oplog.ID]bool
	unsent  []oplog.ID // receives without a send
	unread  []oplog.ID // sends without a receive
	pe      int32      // whose turn it is
}

func randomLog(t *rapid.T) *oplog.Log {
	// Numbers drawn by rapid are small most of the time: only the seed is its.
	noise := rand.NewChaCha8([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")))
	p := &program{Rand: rand.New(noise), read: map[oplog.ID]bool{}}
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
	for _, id := range p.unsent { // or what waits for them never ends
		p.send(id)
	}
	for p.happen() {
	}
	for _, s := range randomSpaces {
		id := p.log.Add(oplog.Op{Kind: oplog.HostRead, PE: -1, Launch: -1, Mem: []oplog.Access{{Space: s, Rows: randomBytes / 32, RowBytes: 32, Stride: 32}}})
		p.log.Effect(id, oplog.Read)
	}
	return &p.log
}

func (p *program) dim() int32 { return p.Int32N(5) }

func (p *program) dtype() numeric.DType { return numeric.DTypes[p.IntN(len(numeric.DTypes))] }

func (p *program) number() float64 {
	return pick(p, []float64{0, 1, -1, 0.1, -2.5, 300, math.Inf(-1)})
}

func pick[T any](p *program, from []T) T { return from[p.IntN(len(from))] }

func (p *program) step() {
	switch p.IntN(16) {
	case 0, 1, 2:
		p.happen()
	case 3, 4:
		p.load(p.dtype(), p.shape())
	case 5, 6:
		p.store()
	case 7:
		p.math()
	case 8:
		p.dot()
	case 9:
		p.one()
	case 10:
		p.send(0)
	case 11:
		p.recv()
	case 12:
		p.composite()
	case 13:
		p.tile(oplog.Op{Kind: oplog.Full, DType: p.dtype(), Shape: p.shape(), Fill: p.number()})
	case 14:
		p.tile(oplog.Op{Kind: oplog.Arange, DType: p.dtype(), Shape: shape(p.dim())})
	case 15:
		p.pending = append(p.pending, oplog.Effect{Op: p.add(oplog.Op{Kind: oplog.Scratch, Mem: p.mem(p.IntN(64))}), Phase: oplog.Write})
	}
}

func (p *program) shape() (s oplog.Shape) {
	s.Rank = int8(p.IntN(4))
	for i := range s.Dim[:s.Rank] {
		s.Dim[i] = p.dim()
	}
	return s
}

// mem is n bytes somewhere, in one piece or two, the second in rows.
func (p *program) mem(n int) (mem []oplog.Access) {
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

func (p *program) add(op oplog.Op) oplog.ID {
	op.PE = p.pe
	return p.log.Add(op)
}

// tile logs an operation that makes one.
func (p *program) tile(op oplog.Op) oplog.Operand {
	o := tile(p.add(op), op.DType, op.Shape)
	p.tiles[p.pe] = append(p.tiles[p.pe], o)
	return o
}

func (p *program) load(d numeric.DType, s oplog.Shape) oplog.Operand {
	op := oplog.Op{Kind: oplog.Load, DType: d, Shape: s}
	if p.IntN(2) == 0 {
		op.Kind = oplog.Get
	}
	p.mask(&op)
	op.Mem = p.mem(box(&op).Elems() * d.Size())
	o := p.tile(op)
	p.pending = append(p.pending, oplog.Effect{Op: o.From, Phase: oplog.Read})
	return o
}

// mask sometimes cuts an operation's box.
func (p *program) mask(op *oplog.Op) {
	if p.IntN(2) == 0 {
		return
	}
	op.Box, op.Fill = op.Shape, p.number()
	for i := range op.Box.Dim[:op.Box.Rank] {
		op.Box.Dim[i] = int32(p.IntN(int(op.Box.Dim[i]) + 1))
	}
}

func (p *program) some() oplog.Operand {
	if len(p.tiles[p.pe]) == 0 {
		return p.load(p.dtype(), p.shape())
	}
	return pick(p, p.tiles[p.pe])
}

func (p *program) store() {
	x := p.some()
	op := oplog.Op{Kind: oplog.Store, DType: x.DType, Shape: x.Shape, Args: []oplog.Operand{x}}
	if p.IntN(2) == 0 {
		op.Kind = oplog.Put
	}
	p.mask(&op)
	op.Mem = p.mem(box(&op).Elems() * op.DType.Size())
	p.pending = append(p.pending, oplog.Effect{Op: p.add(op), Phase: oplog.Write})
}

// beside is an operand that broadcasts to a shape: a number, a tile, or memory.
func (p *program) beside(d numeric.DType, to oplog.Shape, inMemory bool) oplog.Operand {
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

func (p *program) elementwise(d numeric.DType) numeric.Op {
	op := numeric.Add + numeric.Op(p.IntN(int(numeric.BitXor)))
	if !op.IsElementwise() || !numeric.Supports(op, d) {
		return numeric.Add
	}
	return op
}

// operands of an elementwise operation, the first of the shape of the result.
func (p *program) operands(op *oplog.Op, d numeric.DType, inMemory bool) {
	for i := range op.Math.Arity() {
		of := d
		if op.Math == numeric.Where && i == 0 {
			of = u8
		}
		if i == 0 {
			op.Args = append(op.Args, p.load(of, op.Shape))
			continue
		}
		op.Args = append(op.Args, p.beside(of, op.Shape, inMemory))
	}
}

func (p *program) math() {
	d := p.dtype()
	op := oplog.Op{Kind: oplog.Math, Math: p.elementwise(d), Shape: p.shape()}
	op.DType = op.Math.Result(d)
	p.operands(&op, d, false)
	p.tile(op)
}

func (p *program) dot() {
	d, m, k, n := p.dtype(), p.dim(), p.dim(), p.dim()
	op := oplog.Op{Kind: oplog.Dot, DType: numeric.DotType(d), Shape: shape(m, n), Args: []oplog.Operand{p.load(d, shape(m, k)), p.load(d, shape(k, n))}}
	if p.IntN(2) == 0 {
		op.Args = append(op.Args, p.load(op.DType, op.Shape))
	}
	p.tile(op)
}

// one is an operation on one tile.
func (p *program) one() {
	x := p.some()
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
	p.tile(op)
}

func (p *program) composite() {
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
		p.operands(&op, d, true)
		acc = op.Math.Result(mathDType(&op)) // all may be numbers
	}
	for range p.IntN(3) {
		s := oplog.Step{Math: p.elementwise(acc)}
		if s.Math.IsComparison() || s.Math == numeric.Where {
			s.Math = numeric.Maximum
		}
		for range s.Math.Arity() - 1 {
			s.Args = append(s.Args, p.beside(p.dtype(), op.Shape, true))
		}
		op.Epilogue = append(op.Epilogue, s)
	}
	p.mask(&op)
	op.Fill = 0
	op.Mem = p.mem(box(&op).Elems() * op.DType.Size())
	id := p.add(op)
	p.pending = append(p.pending, oplog.Effect{Op: id, Phase: oplog.Read}, oplog.Effect{Op: id, Phase: oplog.Write})
}

func (p *program) matrix(d numeric.DType, m, n int32) oplog.Operand {
	if p.IntN(2) == 0 {
		return p.load(d, shape(m, n))
	}
	return oplog.Operand{Mem: p.mem(int(m*n) * d.Size()), Shape: shape(m, n), DType: d}
}

// send sends what one of the receives waits for, or, without any, something.
func (p *program) send(to oplog.ID) {
	if to == 0 && len(p.unsent) > 0 {
		to, p.unsent = p.unsent[0], p.unsent[1:]
	}
	x := p.some()
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

// recv takes a message that is there, or waits for one.
func (p *program) recv() {
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
		id = p.tile(op).From
	}
	if waits {
		p.unsent = append(p.unsent, id)
	}
}

// happen lets a pending effect happen that can.
func (p *program) happen() bool {
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

// exists says whether the value that an operation has or writes does.
func (p *program) exists(id oplog.ID) bool {
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
