package pe

import (
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// GemmTime returns the time of an m×k by k×n product on the GEMM engine:
//
//	(⌈m/array.m⌉ · ⌈k/array.k⌉ · ⌈n/array.n⌉ + fill) / clock
//
// or 0 if m, k or n is 0.
func GemmTime(g topology.GEMM, m, k, n int) simtime.Time {
	cycles := g.FillCycles
	for row := 0; row < m; row += g.Array.M {
		for col := 0; col < n; col += g.Array.N {
			for in := 0; in < k; in += g.Array.K {
				cycles++
			}
		}
	}
	if cycles == g.FillCycles {
		return 0
	}
	return simtime.MulDiv(uint64(cycles), uint64(simtime.Second), uint64(g.Clock))
}

// MathTime returns the time of an operation over n elements that takes the given cycles per
// vector:
//
//	⌈n/vector_width⌉ · cycles / clock
func MathTime(m topology.Math, cycles, n int) simtime.Time {
	vectors := n / m.VectorWidth
	if n%m.VectorWidth > 0 {
		vectors++
	}
	return simtime.MulDiv(uint64(vectors*cycles), uint64(simtime.Second), uint64(m.Clock))
}

// CommandTime returns the time of a command on an otherwise idle PE, from its arrival at
// the scheduler until its result is in TCM:
//
//	fetched bytes / min(fetch_store, tcm read) + run + stored bytes / min(fetch_store, tcm write)
//
// plus the overhead of the TCM for the fetch and for the store, if they move any bytes.
func CommandTime(pe topology.PE, fetched topology.Bytes, run simtime.Time, stored topology.Bytes) simtime.Time {
	total := run
	for _, move := range []struct {
		bytes topology.Bytes
		port  topology.BytesPerSec
	}{{fetched, pe.TCM.ReadBandwidth}, {stored, pe.TCM.WriteBandwidth}} {
		if move.bytes > 0 {
			total += pe.TCM.Overhead + max(move.port.Serialize(move.bytes), pe.FetchStore.Bandwidth.Serialize(move.bytes))
		}
	}
	return total
}
