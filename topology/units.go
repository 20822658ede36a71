package topology

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/sim"
)

// Time is simulated time in femtoseconds.
type Time = sim.Time

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
	return sim.MulDiv(uint64(b), uint64(sim.Second), uint64(bw))
}

// Hz is a clock frequency.
type Hz int64

// Cycles is how long n cycles take.
func (f Hz) Cycles(n int) Time { return sim.MulDiv(uint64(n), uint64(sim.Second), uint64(f)) }

// Micrometres is a distance on a die or board.
type Micrometres int64

// TimePerMM is how long a signal takes over a millimetre of wire.
type TimePerMM Time

// Over is the wire delay of a distance, rounded to the femtosecond.
func (d TimePerMM) Over(um Micrometres) Time { return sim.MulDiv(uint64(d), uint64(um), 1000) }

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
