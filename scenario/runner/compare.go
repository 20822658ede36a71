package runner

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

// compareChunk is the number of elements between checks whether the context has ended.
const compareChunk = 1 << 16

// compare compares `got`, the values of output o at a rank after a round, with the golden
// values `want`. It adds the counts and mismatches to the report. 0 equals -0, and all NaNs
// are equal. If ctx has ended, the error is the cause of ctx.
func (r *Report) compare(ctx context.Context, o *scenario.Output, rank, round int, got, want []byte) error {
	d, n := o.DType, o.Elems()
	r.Compared += n
	var open *Mismatch // the span of the previous element; nil if that element is right
	end := func() {
		if open == nil {
			return
		}
		open.Got, open.Want = formatElement(d, got, open.Worst), formatElement(d, want, open.Worst)
		if r.Spans++; r.Spans <= MaxMismatches {
			r.Mismatches = append(r.Mismatches, *open)
		}
		open = nil
	}
	for from := 0; from < n; from += compareChunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(n, from+compareChunk)
		if size := d.Size(); bytes.Equal(got[from*size:to*size], want[from*size:to*size]) {
			end()
			continue
		}
		for i := from; i < to; i++ {
			if withinTolerance(o, got, want, i) {
				end()
				continue
			}
			off := ulps(d, got, want, i)
			r.Wrong++
			if open == nil {
				open = &Mismatch{Rank: rank, Round: round, Buffer: o.Name, First: i, Worst: i}
			}
			open.Last = i
			if off > open.ULP {
				open.Worst, open.ULP = i, off
			}
		}
	}
	end()
	return nil
}

// add adds the counts and mismatches of report o to r. It keeps only the first
// MaxMismatches mismatches.
func (r *Report) add(o Report) {
	r.Compared += o.Compared
	r.Wrong += o.Wrong
	r.Spans += o.Spans
	r.Mismatches = append(r.Mismatches, o.Mismatches...)
	r.Mismatches = r.Mismatches[:min(len(r.Mismatches), MaxMismatches)]
}

// finish sorts the mismatches by rank and round and reports whether all values are right.
// It replaces a nil list by an empty one, so that JSON has [] instead of null.
func (r *Report) finish() (ok bool) {
	r.Mismatches = append([]Mismatch{}, r.Mismatches...)
	slices.SortStableFunc(r.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Round, b.Round))
	})
	return r.Wrong == 0
}

// withinTolerance reports whether element i of `got` equals element i of `want`, or differs
// from it by no more than the tolerance of the output. An infinity matches only itself.
func withinTolerance(o *scenario.Output, got, want []byte, i int) bool {
	off := ulps(o.DType, got, want, i)
	if off == 0 || o.Relative == 0 && o.Absolute == 0 {
		return off == 0
	}
	w := numeric.Get(o.DType, want, i)
	difference := float64(off) // for integers, ulps are differences
	if o.DType.IsFloat() {
		difference = math.Abs(numeric.Get(o.DType, got, i) - w)
	}
	return !math.IsInf(difference, 0) && difference <= o.Absolute+o.Relative*math.Abs(w)
}

// ulps returns the distance between element i of a and element i of b, measured in values
// of the dtype: neighbouring values have distance 1. Two NaNs have distance 0. The distance
// between a NaN and a number is MaxUint64.
func ulps(d numeric.DType, a, b []byte, i int) uint64 {
	if !d.IsFloat() {
		x, y := numeric.GetInt(d, a, i), numeric.GetInt(d, b, i)
		if less := x < y; less != (d == numeric.U64 && (x < 0) != (y < 0)) {
			x, y = y, x
		}
		return uint64(x) - uint64(y)
	}
	if x, y := numeric.Get(d, a, i), numeric.Get(d, b, i); math.IsNaN(x) || math.IsNaN(y) {
		if math.IsNaN(x) && math.IsNaN(y) {
			return 0
		}
		return math.MaxUint64
	}
	x, y := ordinal(d, a, i), ordinal(d, b, i)
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y)
}

// ordinal returns the position of element i of buf among all values of its float dtype, in
// ascending order. Both zeros have position 0, and negative values have negative positions.
func ordinal(d numeric.DType, buf []byte, i int) int64 {
	as := [...]numeric.DType{2: numeric.I16, 4: numeric.I32, 8: numeric.I64}[d.Size()]
	bits := numeric.GetInt(as, buf, i)
	if bits >= 0 {
		return bits
	}
	return -(bits &^ (-1 << (8*d.Size() - 1))) // the other bits, negated
}

// formatElement formats element i of buf with as many digits as are needed to identify the
// value.
func formatElement(d numeric.DType, buf []byte, i int) string {
	switch {
	case d == numeric.U64:
		return strconv.FormatUint(uint64(numeric.GetInt(d, buf, i)), 10)
	case !d.IsFloat():
		return strconv.FormatInt(numeric.GetInt(d, buf, i), 10)
	case d == numeric.F64:
		return fmt.Sprint(numeric.Get(d, buf, i))
	}
	return fmt.Sprint(float32(numeric.Get(d, buf, i)))
}

// rankGuard restricts a kernel on a simulated PE to the memory and signals that a process
// would have: the buffers of its rank and the signals of the scenario. The simulated
// machine cannot check this, because it stores the buffers of all ranks in one tensor and
// has more signals.
type rankGuard struct {
	regions []region
	signals int
}

// region is a range of memory that the kernel may use.
type region struct {
	name        string
	addr, bytes int64
}

// Access returns an error unless block b is empty or inside one of the regions of c. The
// error names the nearest region, or says that this rank does not have the buffer.
func (c *rankGuard) Access(b *tl.Block, _ tl.Use) error {
	if b.Valid.Elems() == 0 {
		return nil
	}
	first, end := b.Span()
	var near *region
	least := int64(0)
	for i := range c.regions {
		r := &c.regions[i]
		away := max(r.addr-first, end-(r.addr+r.bytes), 0)
		if away == 0 {
			return nil
		}
		if near == nil || away < least {
			near, least = r, away
		}
	}
	if near == nil || b.Ptr.Addr == 0 {
		return fmt.Errorf("this rank has no such buffer: it belongs to a domain without this rank")
	}
	return fmt.Errorf("bytes %d to %d are not all in %s, which has %d: move the pointer, or mask what lies beyond", first-near.addr, end-near.addr, near.name, near.bytes)
}

// Allocated adds to the regions the scratch memory that the kernel has allocated.
func (c *rankGuard) Allocated(addr, bytes int64) {
	c.regions = append(c.regions, region{fmt.Sprintf("scratch of %d bytes", bytes), addr, bytes})
}

// Peer accepts every rank, because the simulated machine checks ranks itself.
func (c *rankGuard) Peer(rank int) (int, error) { return rank, nil }

// Port accepts every port. The simulated machine then returns an error, because these
// launches have no ports.
func (c *rankGuard) Port(tl.Port) error { return nil }

// Signal returns an error unless the scenario has signal n.
func (c *rankGuard) Signal(n int, _ bool) error {
	if n < 0 || n >= c.signals {
		return procpe.NoSignalError(n, c.signals)
	}
	return nil
}
