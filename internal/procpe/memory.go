package procpe

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/oplog"
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

// memory is the bytes of a Ref: where they are if they lie in one piece, else a copy.
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
	return copied, x.each(func(at, in, n int64) error {
		copy(copied[in:in+n], r.bytes[at:])
		return nil
	})
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
