package procpe

import (
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// region is memory that a kernel can address: a tensor or a scratch buffer.
type region struct {
	name    string
	bytes   []byte
	window  *comm.Window // nil for private memory of the rank
	offset  int64        // offset of the region in each part of the window
	members []int        // ranks in the world that share the window
}

// An address is the number of a region, from 1, times maxBytes, plus an offset in the
// region. locate rounds to the nearest region. So it still attributes a pointer to its
// region if the pointer is outside by less than maxBytes/2, even before the first byte.
const maxBytes = 1 << 40

// lastAddress returns the address at which the last of the regions begins.
func lastAddress(regions []region) int64 { return int64(len(regions)) * maxBytes }

// Scratch allocates zeroed memory with the given number of bytes and returns its address.
// The kernel keeps the memory until it ends.
func (c *core) Scratch(bytes int64) (int64, error) {
	if bytes > maxBytes/2 {
		return 0, fmt.Errorf("%d bytes: %d are the most", bytes, int64(maxBytes/2))
	}
	c.regions = append(c.regions, region{name: fmt.Sprintf("scratch of %d bytes", bytes), bytes: make([]byte, bytes)})
	return lastAddress(c.regions), nil
}

// Load reads the block `from` into the new tile v.
func (c *core) Load(v *tl.Value, from tl.Block) error {
	r, x, err := c.locate(&from)
	if err != nil {
		return err
	}
	tile, err := c.tiles.add(v)
	if err != nil {
		return err
	}
	c.fillMasked(&from, tile)
	return r.read(&x, tile)
}

// read copies bytes from the region to a tile. The runs x describe which bytes of the
// region these are.
func (r *region) read(x *blockRuns, tile []byte) error {
	return x.each(func(at, in, n int64) error {
		copy(tile[in:in+n], r.bytes[at:])
		return nil
	})
}

// Store writes tile v to the block `to`.
func (c *core) Store(v tl.Value, to tl.Block) error {
	tile, err := c.tiles.use(&v)
	if err != nil {
		return err
	}
	return c.write(&to, tile)
}

// write copies the bytes of a tile to the block `to`.
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

// refBytes returns the bytes of the Ref v. If they are contiguous in memory, it returns the
// memory itself, otherwise a copy.
func (c *core) refBytes(v *tl.Value) ([]byte, error) {
	b := v.Block()
	r, x, err := c.locate(&b)
	if err != nil {
		return nil, err
	}
	bytes := v.Bytes()
	if x.runBytes == bytes {
		return r.bytes[x.start:][:bytes], nil
	}
	copied := make([]byte, bytes)
	return copied, r.read(&x, copied)
}

// fillMasked sets all elements of a tile to the fill value of block b if some elements of
// the block are masked. The caller then overwrites the unmasked elements.
func (c *core) fillMasked(b *tl.Block, tile []byte) {
	if b.Valid != b.Shape {
		op := oplog.Op{Kind: oplog.Full, Shape: b.Shape, DType: b.DType, Fill: b.Fill}
		c.eager.Compute(&op, tile, nil)
	}
}

// locate returns the region that block b is in, and the runs of the block in that region.
func (c *core) locate(b *tl.Block) (*region, blockRuns, error) {
	i := (b.Ptr.Addr + maxBytes/2) / maxBytes
	if i < 1 || i > int64(len(c.regions)) {
		return nil, blockRuns{}, errors.New("the pointer is into no memory of this launch: pointers come from its arguments and from Scratch")
	}
	r := &c.regions[i-1]
	x, err := newBlockRuns(b, b.Ptr.Addr-i*maxBytes, r)
	return r, x, err
}

// blockRuns describes the unmasked elements of a block as runs of bytes that are contiguous
// both in memory and in the tile.
type blockRuns struct {
	start     int64                // offset of the first element in its region
	runBytes  int64                // bytes of a run; 0 if there are no elements
	outerAxes int                  // number of axes over which runs repeat, outermost first
	count     [oplog.MaxRank]int64 // elements of each axis
	step      [oplog.MaxRank]int64 // stride of each axis in memory, in bytes
	tile      [oplog.MaxRank]int64 // stride of each axis in the tile, in bytes
}

// newBlockRuns returns the runs of block b, which begins at byte `at` of region r. It
// returns an error if an unmasked element is outside the region.
func newBlockRuns(b *tl.Block, at int64, r *region) (blockRuns, error) {
	x := blockRuns{start: at}
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
		if maxStride := size / elem / (n - 1); stride > maxStride || stride < -maxStride { // so that no product below overflows
			return x, fmt.Errorf("axis %d of the block, %d elements that are %d apart, is longer than %s, which has %d bytes", i, n, stride, r.name, size)
		}
		first += min(0, (n-1)*x.step[i])
		end += max(0, (n-1)*x.step[i])
	}
	if first < 0 || end > size {
		return x, fmt.Errorf("bytes %d to %d are not all in %s, which has %d: move the pointer, or mask what lies beyond", first, end, r.name, size)
	}
	x.runBytes = elem
	for x.outerAxes = int(b.Shape.Rank); x.outerAxes > 0; x.outerAxes-- {
		i := x.outerAxes - 1
		if x.tile[i] != x.runBytes || x.count[i] > 1 && x.step[i] != x.runBytes {
			break
		}
		x.runBytes *= x.count[i]
	}
	return x, nil
}

// each calls f for every run. `at` is the offset of the run in the region, `in` is its
// offset in the tile, and `n` is its length in bytes.
func (x *blockRuns) each(f func(at, in, n int64) error) error {
	if x.runBytes == 0 {
		return nil
	}
	var index [oplog.MaxRank]int64
	at, in := x.start, int64(0)
	for {
		if err := f(at, in, x.runBytes); err != nil {
			return err
		}
		axis := x.outerAxes - 1
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

// Tensor is an argument of a launch, to which the kernel gets a pointer. Its elements are
// dense, in row-major order, in private memory of the rank or in its part of a window.
type Tensor struct {
	Name  string // for errors
	DType tl.DType
	Shape tl.Shape

	Memory []byte // private memory; nil if Window is set

	// Window holds the tensor at each of its ranks, at Offset. Put and Get need such a
	// tensor.
	Window *comm.Window
	Offset int64 // bytes into Memory, or into each rank's part of Window
}

// String returns name, shape and dtype, such as "x [4 64] f32".
func (x Tensor) String() string { return fmt.Sprintf("%s %v %v", x.Name, x.Shape, x.DType) }

// memory returns the bytes of the tensor at this rank, and a pointer with its dtype, shape
// and strides. The caller sets the address and the window of the pointer.
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

// addTensor adds tensor x to the regions of the session. Kernels then get a pointer to x,
// too.
func (s *Session) addTensor(x *Tensor) error {
	memory, p, err := x.memory()
	if err != nil {
		return err
	}
	r := region{name: x.String(), bytes: memory, window: x.Window, offset: x.Offset}
	if x.Window != nil {
		r.members = x.Window.Comm().Ranks()
	}
	s.regions = append(s.regions, r)
	p.Addr, p.Window = lastAddress(s.regions), int16(len(s.regions))
	s.ptrs = append(s.ptrs, p)
	return nil
}
