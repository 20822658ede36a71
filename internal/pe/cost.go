package pe

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Costs computes how long the stages of a command take on a PE.
type Costs struct {
	pe           *topology.PE
	fetch, store port
	math         struct { // the latest call of Math, and its result
		op    numeric.Op
		n     int
		takes simtime.Time
	}
}

// port is the path between TCM and registers in one direction. It caches the time of the
// latest size, because a kernel has tiles of few sizes.
type port struct {
	bandwidth topology.BytesPerSec
	overhead  simtime.Time
	bytes     memory.Bytes // the latest size
	takes     simtime.Time // the time for the latest size
}

// NewCosts returns the costs of commands on a PE with the given description.
func NewCosts(pe *topology.PE) Costs {
	return Costs{
		pe:    pe,
		fetch: port{bandwidth: slower(pe.FetchStore.Bandwidth, pe.TCM.ReadBandwidth), overhead: pe.TCM.Overhead},
		store: port{bandwidth: slower(pe.FetchStore.Bandwidth, pe.TCM.WriteBandwidth), overhead: pe.TCM.Overhead},
	}
}

func slower(a, b topology.BytesPerSec) topology.BytesPerSec {
	if a == topology.Unlimited || b != topology.Unlimited && b < a {
		return b
	}
	return a
}

// Fetch returns the time to move n bytes from TCM to registers.
func (c *Costs) Fetch(n memory.Bytes) simtime.Time { return c.fetch.time(n) }

// Store returns the time to move n bytes from registers to TCM.
func (c *Costs) Store(n memory.Bytes) simtime.Time { return c.store.time(n) }

func (p *port) time(n memory.Bytes) simtime.Time {
	if n != p.bytes {
		p.bytes, p.takes = n, 0
		if n > 0 {
			p.takes = p.overhead + p.bandwidth.Serialize(n)
		}
	}
	return p.takes
}

// Gemm returns the time of an m×k by k×n product on the MAC array. The array first takes
// some cycles to fill. Then it computes one block of the size of the array per cycle. An
// empty product takes no time.
func (c *Costs) Gemm(m, k, n int) simtime.Time {
	if m == 0 || k == 0 || n == 0 {
		return 0
	}
	g := &c.pe.GEMM
	blocks := ceilDiv(m, g.Array.M) * ceilDiv(k, g.Array.K) * ceilDiv(n, g.Array.N)
	return g.Clock.Cycles(blocks + g.FillCycles)
}

// Math returns the time of operation op over n elements on the MATH engine. The engine
// works on vectors of elements; op determines the cycles per vector.
func (c *Costs) Math(op numeric.Op, n int) simtime.Time {
	if m := &c.math; m.n != n || m.op != op {
		m.op, m.n = op, n
		m.takes = c.pe.Math.Clock.Cycles(ceilDiv(n, c.pe.Math.VectorWidth) * c.mathCycles(op))
	}
	return c.math.takes
}

// mathCycles returns how many cycles the MATH engine takes for one vector of operation op.
func (c *Costs) mathCycles(op numeric.Op) int {
	cycles := &c.pe.Math.Cycles
	switch op {
	case numeric.Div:
		return cycles.Div
	case numeric.Sqrt:
		return cycles.Sqrt
	case numeric.Rsqrt:
		return cycles.Sqrt + cycles.Div
	case numeric.Exp, numeric.Log, numeric.Sigmoid, numeric.Tanh:
		return cycles.Exp
	case numeric.Clamp:
		return 2 * cycles.Simple // a maximum and a minimum
	case numeric.SoftmaxOp:
		return 3*cycles.Simple + cycles.Exp + cycles.Div // maximum, subtract, exp, sum, divide
	}
	return cycles.Simple
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
