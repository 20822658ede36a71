package runner

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/tl"
)

// checked is a simulated PE that keeps a kernel to what it has on real ranks: buffers
// of its own, and the signals of the scenario. The machine itself knows neither: it has
// one tensor for the parts of all ranks, and many signals.
type checked struct {
	tl.Machine
	regions []region
	signals int
}

// region is memory that the kernel may use.
type region struct {
	name        string
	addr, bytes int64
}

// inside checks that a block lies in one of the regions: else the error tells of the
// nearest.
func (c *checked) inside(b *tl.Block) error {
	if b.Valid.Elems() == 0 {
		return nil
	}
	size := int64(b.DType.Size())
	first, end := b.Ptr.Addr, b.Ptr.Addr+size
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		along := int64(n-1) * b.Ptr.Stride[axis] * size
		first, end = first+min(0, along), end+max(0, along)
	}
	var near *region
	least := int64(0)
	for i := range c.regions {
		r := &c.regions[i]
		away := max(r.addr-first, end-(r.addr+r.bytes), 0)
		if away == 0 {
			return nil
		}
		if near == nil || away < least {
			near, least = r, away
		}
	}
	if near == nil || b.Ptr.Addr == 0 {
		return fmt.Errorf("this rank has no such buffer: it is of a domain that the rank is no member of")
	}
	return fmt.Errorf("bytes %d to %d are not all in %s, which has %d: move the pointer, or mask what lies beyond", first-near.addr, end-near.addr, near.name, near.bytes)
}

func (c *checked) memory(v *tl.Value) error {
	if !v.InMem {
		return nil
	}
	return c.inside(&tl.Block{Ptr: *v.Ptr, Shape: v.Shape, Valid: v.Shape, DType: v.DType})
}

func (c *checked) signal(n int) error {
	if n < 0 || n >= c.signals {
		return procpe.NoSignal(n, c.signals)
	}
	return nil
}

func (c *checked) Scratch(bytes int64) (int64, error) {
	addr, err := c.Machine.Scratch(bytes)
	if err == nil {
		c.regions = append(c.regions, region{fmt.Sprintf("scratch of %d bytes", bytes), addr, bytes})
	}
	return addr, err
}

func (c *checked) Load(v *tl.Value, from tl.Block) error {
	if err := c.inside(&from); err != nil {
		return err
	}
	return c.Machine.Load(v, from)
}

func (c *checked) Store(v tl.Value, to tl.Block) error {
	if err := c.inside(&to); err != nil {
		return err
	}
	return c.Machine.Store(v, to)
}

func (c *checked) Put(peer int, v tl.Value, to tl.Block) error {
	if err := c.inside(&to); err != nil {
		return err
	}
	return c.Machine.Put(peer, v, to)
}

func (c *checked) Get(peer int, v *tl.Value, from tl.Block) error {
	if err := c.inside(&from); err != nil {
		return err
	}
	return c.Machine.Get(peer, v, from)
}

func (c *checked) Composite(op *tl.Composite) (tl.Handle, error) {
	for i := range op.Args {
		if err := c.memory(&op.Args[i].Value); err != nil {
			return tl.Handle{}, err
		}
	}
	for _, step := range op.Epilogue {
		for i := range step.Args {
			if err := c.memory(&step.Args[i].Value); err != nil {
				return tl.Handle{}, err
			}
		}
	}
	if err := c.inside(&op.Out); err != nil {
		return tl.Handle{}, err
	}
	return c.Machine.Composite(op)
}

func (c *checked) Notify(peer, signal int, op tl.SignalOp, value int64) error {
	if err := c.signal(signal); err != nil {
		return err
	}
	return c.Machine.Notify(peer, signal, op, value)
}

func (c *checked) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	if err := c.signal(signal); err != nil {
		return err
	}
	return c.Machine.WaitSignal(signal, cmp, value)
}

func (c *checked) TestSignal(signal int, cmp tl.Cmp, value int64) (bool, error) {
	if err := c.signal(signal); err != nil {
		return false, err
	}
	return c.Machine.TestSignal(signal, cmp, value)
}

func (c *checked) Select(cases []tl.Case) (int, error) {
	for _, s := range cases {
		if s.Kind != tl.SignalCase {
			continue
		}
		if err := c.signal(s.Signal); err != nil {
			return 0, err
		}
	}
	return c.Machine.Select(cases)
}
