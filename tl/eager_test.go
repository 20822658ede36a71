package tl_test

import (
	"fmt"
	"sync"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// eager is a launch without a simulated machine: it computes values at once and has no
// clock. Every rank is a goroutine. The East port of a rank is connected to the West port
// of the next rank, in a ring. All memory is in one array.
type eager struct {
	ranks int

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	mem     []byte
	windows [][]int64 // address of each rank's part, by window
	queues  map[end]*eagerQueue
	signals map[[2]int]int64 // by rank and signal
}

// end is one end of a queue: a port of a rank.
type end struct {
	rank int
	port tl.Port
}

// eagerQueue keeps all messages. Receives take messages in the order of posting.
type eagerQueue struct {
	messages [][]byte
	posted   int
}

func newEager(ranks int) *eager {
	e := &eager{ranks: ranks, queues: map[end]*eagerQueue{}, signals: map[[2]int]int64{}}
	e.changed = sync.NewCond(&e.mu)
	for r := range ranks {
		e.queues[end{r, tl.East}] = &eagerQueue{}
		e.queues[end{r, tl.West}] = &eagerQueue{}
	}
	return e
}

// tensor allocates a row-major tensor for each rank, as the parts of one window, and
// returns the pointer of each rank. values[r] has the first elements of the tensor of rank
// r; all other elements are 0.
func (e *eager) tensor(d tl.DType, shape tl.Shape, values ...[]float64) []tl.Ptr {
	p := tl.Ptr{DType: d, Rank: int8(len(shape)), Window: int16(len(e.windows) + 1)}
	elems := 1
	for i := len(shape) - 1; i >= 0; i-- {
		p.Stride[i] = int64(elems)
		elems *= shape[i]
	}
	ptrs := make([]tl.Ptr, e.ranks)
	parts := make([]int64, e.ranks)
	for r := range ptrs {
		data := make([]byte, elems*d.Size())
		if r < len(values) {
			for i, v := range values[r] {
				numeric.Set(d, data, i, v)
			}
		}
		p.Addr = int64(len(e.mem))
		e.mem = append(e.mem, data...)
		ptrs[r], parts[r] = p, p.Addr
	}
	e.windows = append(e.windows, parts)
	return ptrs
}

// values returns the n elements in memory that start at p.
func (e *eager) values(p tl.Ptr, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = numeric.Get(p.DType, e.mem[p.Addr:], i)
	}
	return values
}

// pe returns the PE of one rank, for kernel code that the caller runs itself.
func (e *eager) pe(rank int, kernel string) *tl.PE {
	return tl.NewPE(&eagerPE{eager: e, rank: rank, barriers: map[int]*tl.Barrier{}}, kernel)
}

// run runs a kernel on every rank and returns the error that stopped each rank, or nil.
func (e *eager) run(name string, kernel func(t *tl.PE)) []error {
	errs := make([]error, e.ranks)
	var wg sync.WaitGroup
	for r := range e.ranks {
		wg.Go(func() {
			defer func() {
				if stopped := recover(); stopped != nil {
					errs[r] = stopped.(*tl.Error)
				}
			}()
			kernel(e.pe(r, name))
		})
	}
	wg.Wait()
	return errs
}

// eagerPE is the machine of one rank.
type eagerPE struct {
	barriers map[int]*tl.Barrier
	*eager
	rank     int
	tiles    [][]byte // by slot
	receives []eagerReceive
}

type eagerReceive struct {
	queue   *eagerQueue
	message int
	slot    int32
	into    *tl.Block
}

func (e *eagerPE) Place() tl.Place {
	return tl.Place{
		PE: e.rank, PEs: e.ranks, Cubes: 1, SIPs: 1,
		Rank: e.rank, Ranks: e.ranks, Name: fmt.Sprintf("sip0.cube0.pe%d", e.rank),
	}
}

func (e *eagerPE) Now() simtime.Time     { return 0 }
func (e *eagerPE) Print(string)          {}
func (e *eagerPE) Pin(tl.Value) error    { return nil }
func (e *eagerPE) Free(v tl.Value) error { e.tiles[v.Slot] = nil; return nil }

func (e *eagerPE) Bytes(v tl.Value) ([]byte, error) { return e.data(&v), nil }

// newTile stores data as the elements of the new tile v.
func (e *eagerPE) newTile(v *tl.Value, data []byte) {
	v.Slot = int32(len(e.tiles))
	e.tiles = append(e.tiles, data)
}

// ref returns the memory of a Ref.
func ref(v *tl.Value) *tl.Block {
	b := v.Block()
	return &b
}

// data returns the elements of a tile or ref.
func (e *eagerPE) data(v *tl.Value) []byte {
	if v.InMem {
		return e.read(ref(v))
	}
	return e.tiles[v.Slot]
}

func (e *eagerPE) Scratch(n int64) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mem = append(e.mem, make([]byte, n)...)
	return int64(len(e.mem)) - n, nil
}

// each calls f for each element of a block that the block's mask does not exclude. i is the
// index of the element in the tile.
func each(b *tl.Block, f func(i int, addr int64)) {
	size := int64(b.DType.Size())
	for i := range b.Shape.Elems() {
		addr, rest, exists := b.Ptr.Addr, i, true
		for axis := int(b.Shape.Rank) - 1; axis >= 0; axis-- {
			n := int(b.Shape.Dim[axis])
			at := rest % n
			rest /= n
			exists = exists && at < int(b.Valid.Dim[axis])
			addr += int64(at) * b.Ptr.Stride[axis] * size
		}
		if exists {
			f(i, addr)
		}
	}
}

func (e *eagerPE) read(b *tl.Block) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := b.DType.Size()
	data := make([]byte, b.Shape.Elems()*size)
	for i := range b.Shape.Elems() {
		numeric.Set(b.DType, data, i, b.Fill)
	}
	each(b, func(i int, addr int64) { copy(data[i*size:][:size], e.mem[addr:]) })
	return data
}

func (e *eagerPE) write(b *tl.Block, data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := b.DType.Size()
	each(b, func(i int, addr int64) { copy(e.mem[addr:], data[i*size:][:size]) })
}

func (e *eagerPE) Load(v *tl.Value, from tl.Block) error {
	e.newTile(v, e.read(&from))
	return nil
}

func (e *eagerPE) Store(v tl.Value, to tl.Block) error {
	e.write(&to, e.data(&v))
	return nil
}

// atPeer returns the block with the same shape and offset as b in the part of the window
// that a peer holds.
func (e *eagerPE) atPeer(b tl.Block, peer int) *tl.Block {
	parts := e.windows[b.Ptr.Window-1]
	b.Ptr.Addr += parts[peer] - parts[e.rank]
	return &b
}

func (e *eagerPE) Put(peer int, v tl.Value, to tl.Block) error {
	e.write(e.atPeer(to, peer), e.data(&v))
	return nil
}

func (e *eagerPE) Get(peer int, v *tl.Value, from tl.Block) error {
	e.newTile(v, e.read(e.atPeer(from, peer)))
	return nil
}

// compositeHandle is the handle of all composites, larger than any handle of a receive.
const compositeHandle = 1 << 62

func (e *eagerPE) Composite(c *tl.Composite) (tl.Handle, error) {
	var d tl.DType
	var result []byte
	shape := c.Out.Shape
	if c.Kind == oplog.Gemm {
		a, b := &c.Args[0].Value, &c.Args[1].Value
		d = numeric.DotType(a.DType)
		result = make([]byte, shape.Elems()*d.Size())
		numeric.Dot(a.DType, result, e.data(a), e.data(b), int(a.Shape.Dim[0]), int(a.Shape.Dim[1]), int(b.Shape.Dim[1]))
	} else if c.Kind == oplog.ReducePeers {
		d = c.Args[0].Value.DType
		for i := range c.Args {
			next := e.read(e.atPeer(*ref(&c.Args[i].Value), c.Args[i].Peer))
			if i > 0 {
				numeric.Apply(c.Math, d, next, result, next)
			}
			result = next
		}
	} else {
		d = operandType(c.Math, c.Args)
		result = make([]byte, shape.Elems()*d.Size())
		numeric.Apply(c.Math, d, result, e.operands(c.Math, d, shape, c.Args)...)
	}
	for _, s := range c.Epilogue {
		next := make([]byte, len(result))
		numeric.Apply(s.Math, d, next, append([][]byte{result}, e.operands(s.Math, d, shape, s.Args)...)...)
		result = next
	}
	out := make([]byte, shape.Elems()*c.Out.DType.Size())
	numeric.Cast(c.Out.DType, out, d, result)
	e.write(&c.Out, out)
	return tl.Handle{N: compositeHandle}, nil
}
