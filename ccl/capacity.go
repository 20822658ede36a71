package ccl

import (
	"fmt"
	"math/bits"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// capacity is what a set of links carries, in bytes a second, and how many of them are
// unlimited.
type capacity struct {
	high, low uint64
	unlimited int
}

// newCapacity is what a link carries. Flits take a whole number of femtoseconds each,
// so that it can be a little more than its bandwidth. (A message's last, short flit is
// rounded too, by half a femtosecond, which its latency outweighs.)
func newCapacity(bw topology.BytesPerSec, flit topology.Bytes) capacity {
	high, low := bits.Mul64(uint64(flit), uint64(sim.Second))
	each := uint64(bw.Serialize(flit))
	if each <= high { // none, or more than 64 bits can say
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

// carry is the time that bytes take, rounded down; 0 if that is not known.
func (c capacity) carry(bytes uint64) sim.Time {
	if c.unlimited > 0 || c.high > 0 || c.low == 0 {
		return 0
	}
	high, low := bits.Mul64(bytes, uint64(sim.Second))
	if high >= c.low {
		return sim.Never
	}
	time, _ := bits.Div64(high, low, c.low)
	return sim.Time(min(time, uint64(sim.Never)))
}

// String is the capacity in GB/s.
func (c capacity) String() string { return fmt.Sprintf("%.6g GB/s", float64(c.low)/1e9) }
