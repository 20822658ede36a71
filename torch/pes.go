package torch

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
)

// AllPEs is the PEs of the system, in order.
func (c *Context) AllPEs() []int { return count(0, c.NumPEs()) }

// CubePEs is the PEs of a cube, in order.
func (c *Context) CubePEs(sip, cube int) []int {
	return count(c.PE(sip, cube, 0), c.Topology().Spec().PEsPerCube())
}

func count(first, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i
	}
	return list
}

// Engines is how long each engine of a PE has worked so far. Of the DMA's channels
// that is the time in which data passed, not the waiting.
type Engines struct {
	DMARead, DMAWrite Time
	Fetch, Store      Time
	GEMM, Math        Time
}

// Engines is the busy times of a PE's engines, after everything that this rank has
// asked for.
func (c *Context) Engines(number int) Engines {
	if number < 0 || number >= c.NumPEs() {
		panic(misuse("Engines", "PE %d of a system that has 0 to %d", number, c.NumPEs()-1))
	}
	if c.Synchronize() != nil {
		return Engines{} // what ended the machine is reported elsewhere
	}
	p := c.m.PE(machine.PEID(number))
	return Engines{
		DMARead: p.DMABusy(memory.Read), DMAWrite: p.DMABusy(memory.Write),
		Fetch: p.Pipeline.Fetch.Busy, Store: p.Pipeline.Store.Busy,
		GEMM: p.Pipeline.Units[pe.GEMM].Busy, Math: p.Pipeline.Units[pe.MATH].Busy,
	}
}
