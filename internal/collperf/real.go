package collperf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Backend is the kind of ranks: parts of a simulated machine, or real processes or
// goroutines.
type Backend string

// The backends. Those of real ranks have the same names as in package comm.
const (
	Sim        Backend = "sim"    // PEs or SIPs of a simulated machine
	Processes  Backend = "shm"    // processes of this computer
	Goroutines Backend = "inproc" // goroutines of this process
)

// Kinds of buffers of real ranks.
const (
	PrivateBuffer = "private" // other ranks cannot access the buffers
	WindowBuffer  = "window"  // other ranks can access the buffers
)

// Real reports whether ranks are processes or goroutines of this computer, with measured
// times.
func (o *Options) Real() bool { return o.Backend != "" && o.Backend != Sim }

// maxRanks is the maximum number of real ranks. A larger number is assumed to be a typing
// mistake.
const maxRanks = 1024

// What package coll supports, by the names of package ccl.
var (
	kinds = map[ccl.Collective]coll.Kind{
		ccl.AllReduce: coll.KindAllReduce, ccl.Reduce: coll.KindReduce, ccl.Broadcast: coll.KindBroadcast, ccl.AllGather: coll.KindAllGather,
		ccl.ReduceScatter: coll.KindReduceScatter, ccl.AllToAll: coll.KindAllToAll, ccl.Gather: coll.KindGather, ccl.Scatter: coll.KindScatter,
	}
	collOps        = map[ccl.Reduction]coll.Op{ccl.Sum: coll.Sum, ccl.Product: coll.Prod, ccl.Min: coll.Min, ccl.Max: coll.Max, ccl.Avg: coll.Avg}
	collAlgorithms = []coll.Algorithm{coll.DirectOnePhase, coll.Direct} // for all_reduce and reduce; the other collectives have only the last
	realDTypes     = []tl.DType{tl.F16, tl.BF16, tl.F32, tl.F64, tl.I32, tl.I64}
)

// realCollectives returns the names of the collectives that real ranks support.
func realCollectives() []string {
	return lists.Map(slices.DeleteFunc(ccl.Collectives(), func(c ccl.Collective) bool {
		_, ok := kinds[c]
		return !ok && c != ccl.Barrier
	}), ccl.Collective.String)
}

// realAlgorithms returns the names of the algorithms for the collective between real ranks.
// Only all-reduce and reduce have several algorithms. If the data is in windows, even these
// two collectives have only one algorithm, because ranks combine data in place.
func (o *Options) realAlgorithms() []string {
	if o.Window || o.Collective != ccl.AllReduce && o.Collective != ccl.Reduce {
		return []string{coll.Direct.String()}
	}
	return lists.Map(collAlgorithms, coll.Algorithm.String)
}

// supportsReal reports whether real ranks support the reduction for the dtype.
func (o *Options) supportsReal(r ccl.Reduction, d tl.DType) bool {
	_, op := collOps[r]
	return o.Collective == ccl.Barrier || slices.Contains(realDTypes, d) && (op || !o.Collective.Reduces())
}

// validateReal returns an error if real ranks do not support the options, or if the buffers
// do not fit into the memory of this computer.
func (o *Options) validateReal(ranks int) error {
	if names := realCollectives(); !slices.Contains(names, o.Collective.String()) {
		return fmt.Errorf("there is no %v between real ranks: use one of %s", o.Collective, strings.Join(names, ", "))
	}
	if words := append(o.realAlgorithms(), Auto, AllAlgorithms); o.Algorithm != "" && !slices.Contains(words, o.Algorithm) {
		where := map[bool]string{false: "between real ranks", true: "in windows"}[o.Window]
		text := fmt.Sprintf("no algorithm %q: of %v %s there are %s", o.Algorithm, o.Collective, where, strings.Join(words, ", "))
		onReal := slices.ContainsFunc(collAlgorithms, func(a coll.Algorithm) bool { return a.String() == o.Algorithm })
		if slices.Contains(ccl.Names(), o.Algorithm) && !onReal {
			text += fmt.Sprintf("; %s is a kernel for the queues of the simulated machine, --on %s", o.Algorithm, Sim)
		}
		return errors.New(text)
	}
	if d := o.dtypes()[0]; len(o.series()) == 0 {
		if !o.Collective.Reduces() {
			return fmt.Errorf("there is no %v between real ranks: use f16, bf16, f32, f64, i32 or i64", d)
		}
		return fmt.Errorf("there is no %v of %v between real ranks: use sum, prod, min, max or avg of f16, bf16, f32, f64, i32 or i64", o.reductions()[0], d)
	}
	if err := host.Available().Check(o.realBytes(ranks)); err != nil {
		return fmt.Errorf("the buffers of %d ranks: %w: take smaller sizes, fewer ranks or fewer iterations", ranks, err)
	}
	return nil
}

// realBytes estimates the memory of all ranks: buffers for the largest size, a copy of the
// result if ranks compare their result with that of rank 0, the times of all iterations,
// the slots of each algorithm's group, and the overhead of a rank.
func (o *Options) realBytes(ranks int) uint64 {
	copies := int64(1)
	if !inPlace(o.Collective) {
		copies = 2 // at most
	}
	if o.Values == Reals && o.checks() {
		copies++
	}
	each := host.Product(int64(o.Max), copies) +
		host.Product(o.rows(), int64(o.iters()), bytesPerTime) +
		uint64(len(o.algorithms()))*coll.GroupBytes(ranks)
	return host.Product(uint64(ranks), each) + launch.Overhead(string(o.Backend), ranks)
}

// bytesPerTime is the memory of the time of one iteration: as a number at its rank, as text
// on the way to the launcher, and as a number at the launcher.
const bytesPerTime = 48
