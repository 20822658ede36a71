package torch

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
)

// AllPEs returns the PEs of the system, in order.
func (c *Context) AllPEs() []int { return lists.Count(0, c.NumPEs()) }

// CubePEs returns the PEs of a cube, in order.
func (c *Context) CubePEs(sip, cube int) []int {
	return lists.Count(c.PE(sip, cube, 0), c.Topology().Spec().PEsPerCube())
}

// Place returns where a PE is: its SIP, its cube in that, and its place in the cube.
func (c *Context) Place(number int) (sip, cube, pe int) {
	p := c.m.PE(c.peID("Place", "", number))
	return p.SIP, p.Cube, p.PE
}

// peID returns the PE of a number. The text is what errors say before it.
func (c *Context) peID(op, text string, number int) machine.PEID {
	if number < 0 || number >= c.NumPEs() {
		panic(misuse(op, "%sPE %d of a system that has 0 to %d", text, number, c.NumPEs()-1))
	}
	return machine.PEID(number)
}

// peIDs returns the PEs of numbers, none of which may be there twice. The texts are what
// errors say before a PE and after it.
func (c *Context) peIDs(op, before string, numbers []int, after string) []machine.PEID {
	ids := make([]machine.PEID, len(numbers))
	seen := map[int]bool{}
	for i, number := range numbers {
		ids[i] = c.peID(op, before, number)
		if seen[number] {
			panic(misuse(op, "%sPE %d%s twice", before, number, after))
		}
		seen[number] = true
	}
	return ids
}

// Engines is how long each engine of a PE has worked so far. Of the DMA's channels
// that is the time in which data passed, not the waiting.
type Engines struct {
	DMARead, DMAWrite Time
	Fetch, Store      Time
	GEMM, Math        Time
}

// Engines returns the busy times of a PE's engines, after everything that this rank has
// asked for.
func (r *Rank) Engines(number int) Engines {
	id := r.peID("Engines", "", number)
	if r.Synchronize() != nil {
		return Engines{} // what ended the machine is reported elsewhere
	}
	p := r.m.PE(id)
	return Engines{
		DMARead: p.DMABusy(memory.Read), DMAWrite: p.DMABusy(memory.Write),
		Fetch: p.Pipeline.Fetch.Busy, Store: p.Pipeline.Store.Busy,
		GEMM: p.Pipeline.Units[pe.GEMM].Busy, Math: p.Pipeline.Units[pe.MATH].Busy,
	}
}

// Composite is a composite command that has run: from the first data that moved for
// it to the last that was written.
type Composite struct {
	Start, End Time
	Tiles      int // products of a Gemm, chunks of a Stream, chunks of all peers of a ReducePeers
}

// Composites returns the composite commands in the op log, in the order of issue, after
// everything that this rank has asked for. There
// are none where no log is kept, which is without values unless one is asked for, and
// of a long program, of which the whole is not wanted, only the latest.
func (r *Rank) Composites() (all []Composite) {
	if r.m.Log == nil || r.Synchronize() != nil {
		return nil
	}
	for i := range r.m.Log.Ops {
		if op := &r.m.Log.Ops[i]; op.Kind.IsComposite() {
			all = append(all, Composite{op.Start, op.End, int(op.Tiles)})
		}
	}
	return all
}
