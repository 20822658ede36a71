package topology

import (
	"fmt"
	"unsafe"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time in femtoseconds.
type Time = simtime.Time

// Bytes is an amount of data or a size of memory in bytes.
type Bytes int64

// The binary units of memory sizes.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// BytesPerSec is a bandwidth in bytes per second. Unlimited means that data takes no time.
type BytesPerSec int64

// Unlimited is the bandwidth of a link on which serialization takes no time.
const Unlimited BytesPerSec = 0

// GBps is a gigabyte (10⁹ bytes) per second.
const GBps BytesPerSec = 1e9

// Serialize returns the time for which b bytes occupy a link: round(b·10¹⁵/bandwidth) fs,
// or 0 if the bandwidth is Unlimited.
func (bw BytesPerSec) Serialize(b Bytes) Time {
	if bw == Unlimited {
		return 0
	}
	return simtime.MulDiv(uint64(b), uint64(simtime.Second), uint64(bw))
}

// Hz is a clock frequency in hertz.
type Hz int64

// Cycles returns the time of n cycles.
func (f Hz) Cycles(n int) Time { return simtime.MulDiv(uint64(n), uint64(simtime.Second), uint64(f)) }

// Micrometres is a distance on a die or board.
type Micrometres int64

// TimePerMM is the delay of a millimetre of wire.
type TimePerMM Time

// Over returns the wire delay of a distance, rounded to the femtosecond.
func (d TimePerMM) Over(um Micrometres) Time { return simtime.MulDiv(uint64(d), uint64(um), 1000) }

// String formats the size in the largest binary unit that divides it: "4KiB".
func (b Bytes) String() string {
	for _, u := range size.units {
		if b != 0 && int64(b)%u.scale == 0 {
			return fmt.Sprintf("%d%s", int64(b)/u.scale, u.name)
		}
	}
	return "0B"
}

// String formats the bandwidth in GB/s, or as "unlimited".
func (bw BytesPerSec) String() string {
	if bw == Unlimited {
		return "unlimited"
	}
	return fmt.Sprintf("%gGB/s", float64(bw)/float64(GBps))
}

// String formats the frequency in GHz.
func (f Hz) String() string { return fmt.Sprintf("%gGHz", float64(f)/1e9) }

// String formats the distance in mm.
func (um Micrometres) String() string { return fmt.Sprintf("%gmm", float64(um)/1000) }

// String formats the delay in ns/mm.
func (d TimePerMM) String() string { return fmt.Sprintf("%gns/mm", Time(d).NS()) }

// freeRate is the rate, in operations per second of one engine, above which computation is
// considered to take no time. A rate cannot be unlimited, so a system with free arithmetic
// has the largest possible array and clock.
const freeRate = 1e21

// Peak returns the floating-point operations per second of the matrix engine: 2·m·k·n per
// cycle. ok is false if the engine takes no time.
func (g GEMM) Peak() (flops float64, ok bool) {
	flops = 2 * float64(g.Array.M) * float64(g.Array.K) * float64(g.Array.N) * float64(g.Clock)
	return flops, flops <= freeRate
}

// Peak returns how many simple operations the vector engine does per second. ok is false if
// simple operations take no time.
func (m Math) Peak() (ops float64, ok bool) {
	if m.Cycles.Simple == 0 {
		return 0, false
	}
	return float64(m.VectorWidth) * float64(m.Clock) / float64(m.Cycles.Simple), true
}

// RingBytes returns the size of a PE's receive rings.
func (q IPCQ) RingBytes() Bytes { return Bytes(q.MaxPorts) * Bytes(q.NSlots) * q.SlotSize }

// String formats the size as m×k×n.
func (d Dims3) String() string { return fmt.Sprintf("%d×%d×%d", d.M, d.K, d.N) }

// checkGraphMemory returns an error if this computer has too little memory for the graph
// of the system.
func (s *Spec) checkGraphMemory() error {
	if err := host.Check(s.graphBytes()); err != nil {
		return fmt.Errorf("a system of %d SIPs with %d×%d cubes of %d×%d routers: %w: make it smaller",
			s.System.SIPs.Count, s.SIP.CubeMesh.W, s.SIP.CubeMesh.H, s.Cube.NoC.W, s.Cube.NoC.H, err)
	}
	return nil
}

// graphBytes estimates the memory of the graph. It counts the components and links of SIP 0
// twice, because a list that grows exists twice for a moment. For every SIP it counts the
// links, and for each component the index of its first link.
func (s *Spec) graphBytes() uint64 {
	const (
		linksPerRouter = 4
		linksPerPE     = 2*8 + 7 // for data, both directions: to its router and between units; for commands
		others         = 6       // other components of a cube: CPU, SRAM and ports
		linksPerOther  = 4
	)
	pes, routers := uint64(s.PEsPerCube()), host.Product(s.Cube.NoC.W, s.Cube.NoC.H)
	cubes := host.Product(s.SIP.CubeMesh.W, s.SIP.CubeMesh.H)
	nodes := routers + pes*uint64(1+unitsPerPE) + others
	links := linksPerRouter*routers + linksPerPE*pes + linksPerOther*others
	node, link, first := uint64(unsafe.Sizeof(Node{})), uint64(unsafe.Sizeof(Link{})), uint64(unsafe.Sizeof(LinkID(0)))
	return host.Product(cubes, 2*(nodes*node+links*link)) +
		host.Product(uint64(s.System.SIPs.Count), cubes, nodes*first+links*link)
}
