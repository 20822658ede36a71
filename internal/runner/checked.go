package runner

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/tl"
)

// checked keeps a kernel on a simulated PE to what it has on real ranks: buffers of its
// own, and the signals of the scenario. The machine itself knows neither: it has one
// tensor for the parts of all ranks, and many signals.
type checked struct {
	regions []region
	signals int
}

// region is memory that the kernel may use.
type region struct {
	name        string
	addr, bytes int64
}

// Access checks that a block lies in one of the regions: else the error tells of the
// nearest.
func (c *checked) Access(b *tl.Block, _ tl.Use) error {
	if b.Valid.Elems() == 0 {
		return nil
	}
	first, end := b.Span()
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

// Allocated adds scratch memory.
func (c *checked) Allocated(addr, bytes int64) {
	c.regions = append(c.regions, region{fmt.Sprintf("scratch of %d bytes", bytes), addr, bytes})
}

// Peer leaves ranks to the machine, which has the same.
func (c *checked) Peer(rank int) (int, error) { return rank, nil }

// Port leaves ports to the machine, which has none here.
func (c *checked) Port(tl.Port) error { return nil }

// Signal checks that the scenario has a signal.
func (c *checked) Signal(n int, _ bool) error {
	if n < 0 || n >= c.signals {
		return procpe.NoSignal(n, c.signals)
	}
	return nil
}
