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

// Backend is what ranks are.
type Backend string

// The backends. Those of real ranks are named as package comm does.
const (
	Sim        Backend = "sim"    // parts of a simulated machine
	Processes  Backend = "shm"    // processes of this computer
	Goroutines Backend = "inproc" // goroutines of this process
)

// Where the buffers of real ranks are.
const (
	PrivateBuffer = "private" // other ranks cannot reach them
	WindowBuffer  = "window"
)

// Real reports whether ranks are those of this computer, and times measured.
func (o *Options) Real() bool { return o.Backend != "" && o.Backend != Sim }

// mostRanks bounds real ranks: a number with a digit too many is a mistake.
const mostRanks = 1024

// What package coll does, by the words of package ccl.
var (
	kinds = map[ccl.Collective]coll.Kind{
		ccl.AllReduce: coll.KindAllReduce, ccl.Reduce: coll.KindReduce, ccl.Broadcast: coll.KindBroadcast, ccl.AllGather: coll.KindAllGather,
		ccl.ReduceScatter: coll.KindReduceScatter, ccl.AllToAll: coll.KindAllToAll, ccl.Gather: coll.KindGather, ccl.Scatter: coll.KindScatter,
	}
	collOps        = map[ccl.Reduction]coll.Op{ccl.Sum: coll.Sum, ccl.Product: coll.Prod, ccl.Min: coll.Min, ccl.Max: coll.Max, ccl.Avg: coll.Avg}
	collAlgorithms = []coll.Algorithm{coll.DirectOnePhase, coll.Direct} // of all_reduce and reduce; others have the last
	realDTypes     = []tl.DType{tl.F16, tl.BF16, tl.F32, tl.F64, tl.I32, tl.I64}
)

// realCollectives returns the names of those that real ranks do.
func realCollectives() []string {
	return lists.Map(slices.DeleteFunc(ccl.Collectives(), func(c ccl.Collective) bool {
		_, ok := kinds[c]
		return !ok && c != ccl.Barrier
	}), ccl.Collective.String)
}

// servedReal is the names of algorithms that do the collective between real ranks. In
// windows everything is combined where it is, in one way.
func (o *Options) servedReal() []string {
	if o.Window || o.Collective != ccl.AllReduce && o.Collective != ccl.Reduce {
		return []string{coll.Direct.String()}
	}
	return lists.Map(collAlgorithms, coll.Algorithm.String)
}

// hasReal reports whether real ranks do the reduction of the dtype.
func (o *Options) hasReal(r ccl.Reduction, d tl.DType) bool {
	_, op := collOps[r]
	return o.Collective == ccl.Barrier || slices.Contains(realDTypes, d) && (op || !o.Collective.Reduces())
}

// validateReal reports what real ranks cannot do, and buffers that this computer has no room for.
func (o *Options) validateReal(ranks int) error {
	if names := realCollectives(); !slices.Contains(names, o.Collective.String()) {
		return fmt.Errorf("there is no %v between real ranks: use one of %s", o.Collective, strings.Join(names, ", "))
	}
	if words := append(o.servedReal(), Auto, AllAlgorithms); o.Algorithm != "" && !slices.Contains(words, o.Algorithm) {
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
// result where ranks compare theirs with rank 0's, times of all iterations, the slots of
// each algorithm's group, and what a rank has besides.
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

// bytesPerTime is what an iteration's time takes at its rank, as a number and as text on
// the way to the launcher, where it is a number again.
const bytesPerTime = 48
