package benches

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// roofline is what some PEs of a system can do at best, by its topology: operations on
// their MAC arrays and bytes between their HBM slices and TCM. A rate of +Inf is one that
// takes no time.
type roofline struct {
	pes      int
	flops    float64 // a second, of all arrays
	filled   float64 // the same, with the filling of the array that every tile takes
	channels float64 // bytes a second of the HBM channels, reads and writes together
	port     float64 // bytes a second each way: the slower of slice link and DMA port
}

// newRoofline is that of so many PEs.
func newRoofline(s *topology.Spec, pes int) roofline {
	g, hbm := s.PE.GEMM, s.Cube.HBM
	r := roofline{
		pes: pes, flops: math.Inf(1), filled: math.Inf(1),
		channels: float64(hbm.Channels) * perSecond(hbm.ChannelBandwidth),
		port:     min(perSecond(hbm.Bandwidth), perSecond(s.PE.DMA.Bandwidth)),
	}
	if peak, ok := g.Peak(); ok {
		t := g.Tile
		r.flops = peak
		r.filled = 2 * float64(t.M) * float64(t.K) * float64(t.N) / (pe.GemmTime(g, t.M, t.K, t.N).NS() / 1e9)
	}
	for _, f := range []*float64{&r.flops, &r.filled, &r.channels, &r.port} {
		*f *= float64(pes)
	}
	return r
}

// perSecond is a bandwidth as a number.
func perSecond(bw topology.BytesPerSec) float64 {
	if bw == topology.Unlimited {
		return math.Inf(1)
	}
	return float64(bw)
}

// bandwidth is the memory ceiling: no more bytes a second move, in whatever directions.
func (r roofline) bandwidth() float64 { return min(r.channels, 2*r.port) }

// finite reports whether there are ceilings to draw.
func (r roofline) finite() bool { return !math.IsInf(r.flops, 1) && !math.IsInf(r.bandwidth(), 1) }

// ridge is the operations a byte from which on arithmetic is the limit.
func (r roofline) ridge() float64 { return r.flops / r.bandwidth() }

// ceiling is the operations a second that so many operations a byte allow.
func (r roofline) ceiling(intensity float64) float64 { return min(r.flops, intensity*r.bandwidth()) }

// least is the least time of a product: that of its operations on the arrays, or of its
// bytes between memory and TCM, whichever is longer.
func (r roofline) least(flops float64, read, written topology.Bytes) torch.Time {
	in, out := float64(read), float64(written)
	return torch.Time(math.Round(1e15 * max(flops/r.flops, (in+out)/r.channels, max(in, out)/r.port)))
}

// String is the ceilings.
func (r roofline) String() string {
	if !r.finite() {
		return "arithmetic or memory that takes no time"
	}
	return fmt.Sprintf("%.4g TFLOP/s and %g GB/s, %.3g operations for each byte", r.flops/1e12, r.bandwidth()/1e9, r.ridge())
}

// formula says how the least time is worked out.
func (r roofline) formula() string {
	return fmt.Sprintf("Theory: max(2·M·K·N / %.4g TFLOP/s, bytes / %g GB/s), of the bytes that move between HBM and TCM", r.flops/1e12, r.bandwidth()/1e9)
}

// rounding is how much less than the theory a simulated time may be: the time of every
// flit is rounded to the femtosecond, 0.01 % of one on a link of 10 TB/s.
const rounding = 1e-4

// aboveRoofline checks that no simulated time is below its least.
func aboveRoofline(rows []gemmFound) torch.Check {
	check := torch.Check{Name: "no time below the roofline"}
	for _, r := range rows {
		if check.Wrong == "" && float64(r.Crit) < float64(r.Roofline)*(1-rounding) {
			check.Wrong = fmt.Sprintf("%v took %v, and the theory says at least %v", r.gemmPoint, r.Crit, r.Roofline)
		}
	}
	return check
}

// traffic is the bytes that a PE moves between HBM and TCM for its part of a product. An
// operand that is loaded comes once. Of one that is streamed every tile of the result
// takes the rows or columns that it needs anew.
func traffic(tile topology.Dims3, o operands, part topology.Dims3) (read, written topology.Bytes) {
	elem := topology.Bytes(torch.F16.Size())
	a := elem * topology.Bytes(part.M) * topology.Bytes(part.K)
	b := elem * topology.Bytes(part.K) * topology.Bytes(part.N)
	if !o.loadA {
		a *= topology.Bytes(tl.CDiv(part.N, tile.N))
	}
	if !o.loadB {
		b *= topology.Bytes(tl.CDiv(part.M, tile.M))
	}
	return a + b, elem * topology.Bytes(part.M) * topology.Bytes(part.N)
}
