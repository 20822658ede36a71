package torch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// rect is a rectangle of a matrix: its first row and column, and its size.
type rect struct{ row, col, rows, cols int }

// overlaps reports whether b and c have an element in common.
func (b rect) overlaps(c rect) bool {
	return b.row < c.row+c.rows && c.row < b.row+b.rows && b.col < c.col+c.cols && c.col < b.col+b.cols
}

func (b rect) shape() tl.Shape { return tl.Shape{b.rows, b.cols} }

// step is one operation of a random program. Each PE runs the program on a matrix of its
// own. A program is data, so that a kernel and a simple interpreter can run the same
// program.
type step struct {
	what  stepKind
	from  rect
	to    rect // has the same size as the field from
	value int
	wait  bool // wait for the composite
}

type stepKind int

const (
	move      stepKind = iota // to = from, by Load and Store
	scale                     // to = from · value, by Load, Mul and Store
	add                       // to = from + value, by a composite
	addOther                  // to = from + to, with to as a tile, by a composite
	keep                      // load from and append it to the kept tiles
	drop                      // store the first kept tile at the start of the matrix
	sendTile                  // send from to the next PE, as a tile
	sendRef                   // send from to the next PE, as a ref
	recv                      // to = a message, by Recv and Store
	recvInto                  // to = a message, by RecvInto
	recvAsync                 // to = a message, by RecvAsync before another operation
	numKinds
)

const matrixRows, matrixCols = 24, 40

// anyRect returns a rectangle of the given size at a random position in the matrix.
func anyRect(r *rand.Rand, rows, cols int) rect {
	at := func(n, of int) int { return r.IntN(of - n + 1) }
	return rect{at(rows, matrixRows), at(cols, matrixCols), rows, cols}
}

// anyProgram returns a random program of about n steps in which every message is received.
// At most two messages are in flight at a time.
func anyProgram(r *rand.Rand, n int) (list []step) {
	pending := []rect{}
	for len(list) < n || len(pending) > 0 {
		rows, cols := 1+r.IntN(matrixRows), 1+r.IntN(matrixCols)
		if r.IntN(4) == 0 {
			cols = matrixCols
		}
		s := step{what: stepKind(r.IntN(int(numKinds))), from: anyRect(r, rows, cols), value: r.IntN(9) - 4, wait: r.IntN(2) == 0}
		s.to = anyRect(r, rows, cols)
		switch s.what {
		case add, addOther: // the result of a composite is in other memory, or exactly in place
			if s.from.overlaps(s.to) {
				s.to = s.from
			}
		case sendTile, sendRef:
			if len(list) >= n || len(pending) == 2 {
				continue
			}
			if s.what == sendRef { // whole rows, or a block that fits into a slot
				if s.from.cols != matrixCols && rows*cols*4 > 4096 {
					s.from.col, s.from.cols = 0, matrixCols
				}
			}
			pending = append(pending, s.from)
		case recv, recvInto, recvAsync:
			if len(pending) == 0 {
				continue
			}
			s.to = anyRect(r, pending[0].rows, pending[0].cols)
			pending = pending[1:]
		default:
			if len(list) >= n {
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// kernel returns a kernel that runs the program.
func kernel(program []step) func(t *tl.PE, x tl.Ptr) {
	return func(t *tl.PE, x tl.Ptr) {
		at := func(b rect) tl.Ptr { return x.At(b.row, b.col) }
		load := func(b rect) tl.Tile { return t.Load(at(b), b.shape(), tl.I32) }
		ref := func(b rect) tl.Tile { return t.Ref(at(b), b.shape(), tl.I32) }
		composite := func(s step, c tl.Command) {
			if h := t.Composite(c); s.wait {
				t.Wait(h)
			}
		}
		var kept []tl.Tile
		for _, s := range program {
			switch s.what {
			case move:
				t.Store(at(s.to), load(s.from))
			case scale:
				t.Store(at(s.to), load(s.from).Mul(s.value))
			case add:
				composite(s, tl.Stream(tl.OpAdd, at(s.to), ref(s.from), s.value))
			case addOther:
				composite(s, tl.Stream(tl.OpAdd, at(s.to), ref(s.from), load(s.to)))
			case keep:
				kept = append(kept, load(s.from))
			case drop:
				if len(kept) > 0 {
					t.Store(x, kept[0])
					kept = kept[1:]
				}
			case sendTile:
				t.Send(tl.East, load(s.from))
			case sendRef:
				t.Send(tl.East, ref(s.from))
			case recv:
				t.Store(at(s.to), t.Recv(tl.West, s.to.shape(), tl.I32))
			case recvInto:
				t.RecvInto(tl.West, at(s.to), s.to.shape(), tl.I32)
			case recvAsync:
				h := t.RecvAsync(tl.West, s.to.shape(), tl.I32)
				t.Zeros(tl.Shape{64}, tl.F16)
				t.Store(at(s.to), h.Wait())
			}
		}
	}
}

// grid is the state of the interpreter: the matrices of all PEs, and the messages that have
// been sent and not received.
type grid struct {
	x     [][]int
	queue [][][]int // by PE: messages from the previous PE
	kept  [][][]int
	sizes [][]rect
}

// get returns the elements of the rectangle b in the matrix of PE pe.
func (g *grid) get(pe int, b rect) (list []int) {
	for i := range b.rows {
		at := (b.row+i)*matrixCols + b.col
		list = append(list, g.x[pe][at:at+b.cols]...)
	}
	return list
}

// put stores list in the rectangle b of the matrix of PE pe.
func (g *grid) put(pe int, b rect, list []int) {
	for i := range b.rows {
		copy(g.x[pe][(b.row+i)*matrixCols+b.col:], list[i*b.cols:(i+1)*b.cols])
	}
}

// do runs one step on the matrix of PE pe. It returns false if the step receives a message
// that has not been sent yet.
func (g *grid) do(pe int, s step) bool {
	v := g.get(pe, s.from)
	switch s.what {
	case scale:
		for i := range v {
			v[i] *= s.value
		}
	case add:
		for i := range v {
			v[i] += s.value
		}
	case addOther:
		for i, w := range g.get(pe, s.to) {
			v[i] += w
		}
	case keep:
		g.kept[pe], g.sizes[pe] = append(g.kept[pe], v), append(g.sizes[pe], s.from)
		return true
	case drop:
		if len(g.kept[pe]) == 0 {
			return true
		}
		s.to, v = g.sizes[pe][0], g.kept[pe][0]
		s.to.row, s.to.col = 0, 0
		g.kept[pe], g.sizes[pe] = g.kept[pe][1:], g.sizes[pe][1:]
	case sendTile, sendRef:
		next := (pe + 1) % len(g.x)
		g.queue[next] = append(g.queue[next], v)
		return true
	case recv, recvInto, recvAsync:
		if len(g.queue[pe]) == 0 {
			return false
		}
		v = g.queue[pe][0]
		g.queue[pe] = g.queue[pe][1:]
	}
	g.put(pe, s.to, v)
	return true
}

// TestRandomProgramsKeepProgramOrder runs random programs on PEs in a ring, and the same
// programs in an interpreter that runs one operation after another. It checks that the
// values are equal. Within a PE, accesses to the same memory must keep program order, and
// messages must arrive in the order in which they were sent.
func TestRandomProgramsKeepProgramOrder(t *testing.T) {
	pes := []int{0, 1, 9, 130}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 1 + r.IntN(len(pes))
		kind := topology.BufferKinds[r.IntN(len(topology.BufferKinds))]
		// All PEs run the same program: a PE receives what the previous PE sends.
		program := anyProgram(r, 1+r.IntN(40))
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			const size = matrixRows * matrixCols
			l := hostedtest.New(t, torch.Options{Flit: seed%4 == 3})
			x := l.Ints(lists.Count(0, n*size), torch.I32, torch.On(pes[:n]...), n*matrixRows, matrixCols)
			l.MustLaunch("random", kernel(program), x, torch.Neighbors(torch.Ring(pes[:n]...)), torch.Buffers(kind))

			g := grid{queue: make([][][]int, n), kept: make([][][]int, n), sizes: make([][]rect, n)}
			for pe := range n {
				g.x = append(g.x, lists.Count(pe*size, size))
			}
			at := make([]int, n)
			for moved := true; moved; {
				moved = false
				for pe := range n {
					for at[pe] < len(program) && g.do(pe, program[at[pe]]) {
						at[pe]++
						moved = true
					}
				}
			}
			var want []int
			for pe := range n {
				for _, v := range g.x[pe] {
					want = append(want, int(int32(v)))
				}
			}
			l.Holds(fmt.Sprintf("%s %+v", kind, program), x, want)
		})
	}
}
