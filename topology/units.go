package topology

import (
	"fmt"
	"unsafe"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time in femtoseconds.
type Time = simtime.Time

// Bytes is an amount of data or a size of memory.
type Bytes int64

// The binary units memory sizes are written in.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// BytesPerSec is a bandwidth. Unlimited means that data takes no time to pass.
type BytesPerSec int64

// Unlimited is the bandwidth of a link that serializes in no time.
const Unlimited BytesPerSec = 0

// GBps is a gigabyte (10⁹ bytes) a second.
const GBps BytesPerSec = 1e9

// Serialize is the time b bytes occupy a link: round(b·10¹⁵/bandwidth) fs.
func (bw BytesPerSec) Serialize(b Bytes) Time {
	if bw == Unlimited {
		return 0
	}
	return simtime.MulDiv(uint64(b), uint64(simtime.Second), uint64(bw))
}

// Hz is a clock frequency.
type Hz int64

// Cycles is how long n cycles take.
func (f Hz) Cycles(n int) Time { return simtime.MulDiv(uint64(n), uint64(simtime.Second), uint64(f)) }

// Micrometres is a distance on a die or board.
type Micrometres int64

// TimePerMM is how long a signal takes over a millimetre of wire.
type TimePerMM Time

// Over is the wire delay of a distance, rounded to the femtosecond.
func (d TimePerMM) Over(um Micrometres) Time { return simtime.MulDiv(uint64(d), uint64(um), 1000) }

// String returns the size in the largest binary unit that divides it: "4KiB".
func (b Bytes) String() string {
	for _, u := range size.units {
		if b != 0 && int64(b)%u.scale == 0 {
			return fmt.Sprintf("%d%s", int64(b)/u.scale, u.name)
		}
	}
	return "0B"
}

// String is the bandwidth in GB/s, or "unlimited".
func (bw BytesPerSec) String() string {
	if bw == Unlimited {
		return "unlimited"
	}
	return fmt.Sprintf("%gGB/s", float64(bw)/float64(GBps))
}

// String is the frequency in GHz.
func (f Hz) String() string { return fmt.Sprintf("%gGHz", float64(f)/1e9) }

// String is the distance in mm.
func (um Micrometres) String() string { return fmt.Sprintf("%gmm", float64(um)/1000) }

// String is the delay in ns/mm.
func (d TimePerMM) String() string { return fmt.Sprintf("%gns/mm", Time(d).NS()) }

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

// affordable refuses a system whose graph this computer has no room for.
func (s *Spec) affordable() error {
	if err := host.Check(s.graphBytes()); err != nil {
		return fmt.Errorf("a system of %d SIPs with %d×%d cubes of %d×%d routers: %w: make it smaller",
			s.System.SIPs.Count, s.SIP.CubeMesh.W, s.SIP.CubeMesh.H, s.Cube.NoC.W, s.Cube.NoC.H, err)
	}
	return nil
}

// graphBytes estimates the memory of the graph: an entry for each component of SIP 0, and
// one for each link of all SIPs. While a list of SIP 0 grows there are two of it.
func (s *Spec) graphBytes() uint64 {
	const (
		linksPerRouter = 4
		linksPerPE     = 2*8 + 7 // to and from its router and between its units, and of commands
		others         = 6       // of a cube: CPU, SRAM and ports
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
