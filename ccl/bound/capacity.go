package bound

import (
	"fmt"
	"math/bits"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// capacity is the total bandwidth of a set of links: the bandwidth of the limited links in
// bytes per second, as a number of 128 bits, and the number of unlimited links.
type capacity struct {
	high, low uint64
	unlimited int
}

// newCapacity returns the capacity of one link of bandwidth bw. A flit takes a whole number
// of femtoseconds, so a link can carry slightly more than bw. (The time of the last, short
// flit of a message is rounded too, by at most half a femtosecond. The latency of that flit
// outweighs the rounding.)
func newCapacity(bw topology.BytesPerSec, flit topology.Bytes) capacity {
	high, low := bits.Mul64(uint64(flit), uint64(simtime.Second))
	each := uint64(bw.Serialize(flit))
	if each <= high { // no time, or a rate of more than 64 bits
		return capacity{unlimited: 1}
	}
	rate, rest := bits.Div64(high, low, each)
	if rest > 0 {
		rate++
	}
	return capacity{low: max(rate, uint64(bw))}
}

func (c *capacity) add(d capacity) {
	var carry uint64
	c.low, carry = bits.Add64(c.low, d.low, 0)
	c.high += d.high + carry
	c.unlimited += d.unlimited
}

func (c *capacity) sub(d capacity) {
	var borrow uint64
	c.low, borrow = bits.Sub64(c.low, d.low, 0)
	c.high -= d.high + borrow
	c.unlimited -= d.unlimited
}

// serialize returns how long the links take to carry the given number of bytes, rounded
// down. It returns 0 if the capacity is unlimited, zero or too large to compute.
func (c capacity) serialize(bytes uint64) simtime.Time {
	if c.unlimited > 0 || c.high > 0 || c.low == 0 {
		return 0
	}
	high, low := bits.Mul64(bytes, uint64(simtime.Second))
	if high >= c.low {
		return simtime.Never
	}
	time, _ := bits.Div64(high, low, c.low)
	return simtime.Time(min(time, uint64(simtime.Never)))
}

// String returns the capacity in GB/s.
func (c capacity) String() string { return fmt.Sprintf("%.6g GB/s", float64(c.low)/1e9) }
