package procpe

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// region is memory that a kernel can address: a tensor, or scratch.
type region struct {
	name    string
	bytes   []byte
	window  *comm.Window // nil of memory of the rank's own
	offset  int64        // in the parts of the window
	members []int        // ranks of the world that have it
}

// Addresses are regions, from 1, and bytes in them, which may be negative: a pointer
// that leaves its region by less than half of maxBytes is known to have left that one.
const maxBytes = 1 << 40

// address is where the last of some regions begins.
func address(regions []region) int64 { return int64(len(regions)) * maxBytes }

// Scratch allocates memory, zeroed, until the kernel ends.
func (c *core) Scratch(bytes int64) (int64, error) {
	if bytes > maxBytes/2 {
		return 0, fmt.Errorf("%d bytes: %d are the most", bytes, int64(maxBytes/2))
	}
	c.regions = append(c.regions, region{name: fmt.Sprintf("scratch of %d bytes", bytes), bytes: make([]byte, bytes)})
	return address(c.regions), nil
}

// Load brings a block of memory into a tile.
func (c *core) Load(v *tl.Value, from tl.Block) error {
	r, x, err := c.locate(&from)
	if err != nil {
		return err
	}
	tile, err := c.tiles.add(v)
	if err != nil {
		return err
	}
	c.fill(&from, tile)
	return r.read(&x, tile)
}

// read copies the elements of a box to a tile.
func (r *region) read(x *box, tile []byte) error {
	return x.each(func(at, in, n int64) error {
		copy(tile[in:in+n], r.bytes[at:])
		return nil
	})
}

// Store writes a tile to memory.
func (c *core) Store(v tl.Value, to tl.Block) error {
	tile, err := c.tiles.use(&v)
	if err != nil {
		return err
	}
	return c.write(&to, tile)
}

func (c *core) write(to *tl.Block, tile []byte) error {
	r, x, err := c.locate(to)
	if err != nil {
		return err
	}
	return x.each(func(at, in, n int64) error {
		copy(r.bytes[at:], tile[in:in+n])
		return nil
	})
}

// memory returns the bytes of a Ref: in place if they lie in one piece, else a copy.
func (c *core) memory(v *tl.Value) ([]byte, error) {
	b := v.Block()
	r, x, err := c.locate(&b)
	if err != nil {
		return nil, err
	}
	bytes := v.Bytes()
	if x.run == bytes {
		return r.bytes[x.at:][:bytes], nil
	}
	copied := make([]byte, bytes)
	return copied, r.read(&x, copied)
}

// fill gives the elements of a tile their value outside of the mask.
func (c *core) fill(b *tl.Block, tile []byte) {
	if b.Valid != b.Shape {
		op := oplog.Op{Kind: oplog.Full, Shape: b.Shape, DType: b.DType, Fill: b.Fill}
		c.eager.Compute(&op, tile, nil)
	}
}

// locate finds the region that a block is in, and where in it.
func (c *core) locate(b *tl.Block) (*region, box, error) {
	i := (b.Ptr.Addr + maxBytes/2) / maxBytes
	if i < 1 || i > int64(len(c.regions)) {
		return nil, box{}, errors.New("the pointer is into no memory of this launch: pointers come from its arguments and from Scratch")
	}
	r := &c.regions[i-1]
	x, err := newBox(b, b.Ptr.Addr-i*maxBytes, r)
	return r, x, err
}

// box is the elements of a block that exist, as runs of bytes that are side by side
// both in memory and in the tile.
type box struct {
	at    int64 // first byte in its region
	run   int64 // bytes; 0 if no element exists
	axes  int   // around the runs, outermost first
	count [oplog.MaxRank]int64
	step  [oplog.MaxRank]int64 // bytes in memory
	tile  [oplog.MaxRank]int64 // bytes in the tile
}

// newBox lays a block out that begins at a byte of a region, and checks that all of it
// is there.
func newBox(b *tl.Block, at int64, r *region) (box, error) {
	x := box{at: at}
	if b.Valid.Elems() == 0 {
		return x, nil
	}
	size, elem := int64(len(r.bytes)), int64(b.DType.Size())
	first, end, dense := at, at+elem, elem
	for i := int(b.Shape.Rank) - 1; i >= 0; i-- {
		n, stride := int64(b.Valid.Dim[i]), b.Ptr.Stride[i]
		x.count[i], x.step[i], x.tile[i] = n, stride*elem, dense
		dense *= int64(b.Shape.Dim[i])
		if n == 1 {
			continue
		}
		if most := size / elem / (n - 1); stride > most || stride < -most { // and no product overflows
			return x, fmt.Errorf("axis %d of the block, %d elements that are %d apart, is longer than %s, which has %d bytes", i, n, stride, r.name, size)
		}
		first += min(0, (n-1)*x.step[i])
		end += max(0, (n-1)*x.step[i])
	}
	if first < 0 || end > size {
		return x, fmt.Errorf("bytes %d to %d are not all in %s, which has %d: move the pointer, or mask what lies beyond", first, end, r.name, size)
	}
	x.run = elem
	for x.axes = int(b.Shape.Rank); x.axes > 0; x.axes-- {
		i := x.axes - 1
		if x.tile[i] != x.run || x.count[i] > 1 && x.step[i] != x.run {
			break
		}
		x.run *= x.count[i]
	}
	return x, nil
}

// each calls f with every run: where it is in memory, where in the tile, and its bytes.
func (x *box) each(f func(at, in, n int64) error) error {
	if x.run == 0 {
		return nil
	}
	var index [oplog.MaxRank]int64
	at, in := x.at, int64(0)
	for {
		if err := f(at, in, x.run); err != nil {
			return err
		}
		axis := x.axes - 1
		for ; axis >= 0; axis-- {
			at, in = at+x.step[axis], in+x.tile[axis]
			if index[axis]++; index[axis] < x.count[axis] {
				break
			}
			at, in = at-x.count[axis]*x.step[axis], in-x.count[axis]*x.tile[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return nil
		}
	}
}

// Tensor is an argument of a launch that the kernel gets a pointer to: dense elements,
// row by row, in memory of the rank's own or in its part of a window.
type Tensor struct {
	Name  string // for errors
	DType tl.DType
	Shape tl.Shape

	Memory []byte // the rank's own, unless Window is set

	// Window has the tensor at each of its ranks, Offset bytes into their parts. Put and
	// Get are for such tensors only.
	Window *comm.Window
	Offset int64
}

// String is the name, shape and dtype: "x [4 64] f32".
func (x Tensor) String() string { return fmt.Sprintf("%s %v %v", x.Name, x.Shape, x.DType) }

// memory is the bytes of the tensor and the pointer to it, with neither address nor
// window.
func (x *Tensor) memory() ([]byte, tl.Ptr, error) {
	p := tl.Ptr{DType: x.DType, Rank: int8(len(x.Shape))}
	if !x.DType.Valid() {
		return nil, p, fmt.Errorf("tensor %s has no dtype: use tl.F16 to tl.U64", x.Name)
	}
	if len(x.Shape) > oplog.MaxRank {
		return nil, p, fmt.Errorf("tensor %v has %d axes: %d are the most", x, len(x.Shape), oplog.MaxRank)
	}
	all := x.Memory
	if x.Window != nil {
		if all != nil {
			return nil, p, fmt.Errorf("tensor %v is in memory and in a window: give one", x)
		}
		all = x.Window.Local()
	}
	elem := int64(x.DType.Size())
	bytes := elem
	for i := len(x.Shape) - 1; i >= 0; i-- {
		n := int64(x.Shape[i])
		if n < 0 || n > math.MaxInt32 || n > 0 && bytes > maxBytes/2/n {
			return nil, p, fmt.Errorf("tensor %v: axis %d has %d elements, which no tensor has", x, i, n)
		}
		p.Stride[i], p.Extent[i] = bytes/elem, int32(n)
		bytes *= n
	}
	if x.Offset < 0 || x.Offset > int64(len(all))-bytes {
		return nil, p, fmt.Errorf("tensor %v is %d bytes, from byte %d on, of memory that has %d", x, bytes, x.Offset, len(all))
	}
	return all[x.Offset:][:bytes], p, nil
}

// argument makes a tensor part of the memory of kernels.
func (s *Session) argument(x *Tensor) error {
	memory, p, err := x.memory()
	if err != nil {
		return err
	}
	r := region{name: x.String(), bytes: memory, window: x.Window, offset: x.Offset}
	if x.Window != nil {
		r.members = x.Window.Comm().Ranks()
	}
	s.regions = append(s.regions, r)
	p.Addr, p.Window = address(s.regions), int16(len(s.regions))
	s.ptrs = append(s.ptrs, p)
	return nil
}
