package topology

import "fmt"

// noTime is the rate, in operations a second of one engine, beyond which it is
// said to take no time: a machine whose arithmetic is free has to say so with an
// array and a clock as large as they get, since no rate is unlimited.
const noTime = 1e21

// Peak is the floating-point operations a second of the matrix engine, 2·m·k·n
// each cycle. ok is false if it takes no time.
func (g GEMM) Peak() (flops float64, ok bool) {
	flops = 2 * float64(g.Array.M) * float64(g.Array.K) * float64(g.Array.N) * float64(g.Clock)
	return flops, flops <= noTime
}

// Peak is the simple operations a second of the vector engine. ok is false if
// they take no time.
func (m Math) Peak() (ops float64, ok bool) {
	if m.Cycles.Simple == 0 {
		return 0, false
	}
	return float64(m.VectorWidth) * float64(m.Clock) / float64(m.Cycles.Simple), true
}

// RingBytes is the memory of a PE's receive rings.
func (q IPCQ) RingBytes() Bytes { return Bytes(q.MaxPorts) * Bytes(q.NSlots) * q.SlotSize }

// String is the size as m×k×n.
func (d Dims3) String() string { return fmt.Sprintf("%d×%d×%d", d.M, d.K, d.N) }
