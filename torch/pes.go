package torch

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
)

// AllPEs returns the numbers of all PEs of the system, in ascending order.
func (c *Context) AllPEs() []int { return lists.Count(0, c.NumPEs()) }

// CubePEs returns the numbers of the PEs of one cube, in ascending order.
func (c *Context) CubePEs(sip, cube int) []int {
	return lists.Count(c.PE(sip, cube, 0), c.Topology().Spec().PEsPerCube())
}

// Place returns the position of the PE with the given number: its SIP, its cube in the SIP,
// and its index in the cube.
func (c *Context) Place(number int) (sip, cube, pe int) {
	p := c.m.PE(c.peID("Place", "", number))
	return p.SIP, p.Cube, p.PE
}

// peID converts the number of a PE to a PEID and panics if there is no such PE. The error
// of the panic begins with op, the name of the calling function, and has `text` in front of
// the PE.
func (c *Context) peID(op, text string, number int) machine.PEID {
	if number < 0 || number >= c.NumPEs() {
		panic(misuse(op, "%sPE %d of a system that has 0 to %d", text, number, c.NumPEs()-1))
	}
	return machine.PEID(number)
}

// peIDs converts the numbers of PEs to PEIDs. It panics if a PE does not exist or occurs
// twice. The error of the panic begins with op, the name of the calling function, followed
// by the text `before` and the PE. If the PE occurs twice, the text `after` follows the PE.
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

// Engines holds the busy time of each engine of a PE since the machine was made. For the
// DMA channels this is the time in which data moved; waiting is not included.
type Engines struct {
	DMARead, DMAWrite Time
	Fetch, Store      Time
	GEMM, Math        Time
}

// Engines waits for everything that this rank has requested. It returns the busy times of
// the engines of the PE with the given number. If an operation has failed, all times are 0.
func (r *Rank) Engines(number int) Engines {
	id := r.peID("Engines", "", number)
	if r.Synchronize() != nil {
		return Engines{} // the error is reported by the next operation
	}
	p := r.m.PE(id)
	return Engines{
		DMARead: p.DMABusy(memory.Read), DMAWrite: p.DMABusy(memory.Write),
		Fetch: p.Pipeline.Fetch.Busy, Store: p.Pipeline.Store.Busy,
		GEMM: p.Pipeline.Units[pe.GEMM].Busy, Math: p.Pipeline.Units[pe.MATH].Busy,
	}
}

// Composite describes a composite command that has run. Start is the time at which the
// first data moved for it, and End the time at which the last data was written.
type Composite struct {
	Start, End Time
	Tiles      int // number of products of a Gemm, of chunks of a Stream, or of chunks of all peers of a ReducePeers
}

// Composites waits for everything that this rank has requested. It returns all composite
// commands in the order in which they were issued. Without an op log, it returns none; a
// run without values has an op log only with Options.Race or Options.KeepLog.
func (r *Rank) Composites() (all []Composite) {
	if r.m.Log == nil || r.Synchronize() != nil {
		return nil
	}
	for _, c := range r.m.System.Composites {
		all = append(all, Composite(c))
	}
	return all
}
