package collperf

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host"
)

// memory estimates how many bytes of this computer a row takes: the PEs that ranks are on,
// routes and costs between all pairs of ranks, and values of ranks in the memory of the
// machine, in the op log, and here.
func (o *Options) memory(p *problem) int64 {
	const (
		perPE     = 32 << 10
		perPair   = 128
		perQueues = 512 // of a pair, where all ranks have queues to all others
	)
	each := uint64(perPair)
	if o.Collective == ccl.AllToAll {
		each = perQueues
	}
	n := uint64(p.holders())*perPE + host.Product(uint64(p.ranks), uint64(p.ranks), each)
	if o.checks() {
		n += uint64(min(4*p.bytes(), 1<<60))
	}
	return int64(min(n, 1<<61))
}

// validateValues refuses rows that this computer has no room for, or that have too many
// values for it to compute.
func (o *Options) validateValues(ranks int) error {
	var largest *problem
	for _, s := range o.series() {
		if p := newProblem(o, s, ranks, o.Max); largest == nil || p.bytes() > largest.bytes() {
			largest = p
		}
	}
	if bytes := largest.bytes(); o.checks() && bytes > mostValues {
		return mistake("size", "%v of %d bytes: the values of all ranks are %s, too many to compute here: add --data off, or take smaller sizes", o.Collective, largest.size, host.GB(bytes))
	}
	if err := host.Check(uint64(o.memory(largest))); err != nil {
		fix := "take fewer ranks"
		if o.checks() {
			fix = "add --data off, take smaller sizes, or fewer ranks"
		}
		return mistake("size", "%v of %d bytes between %d ranks: %w: %s", o.Collective, o.Max, ranks, err, fix)
	}
	return nil
}
