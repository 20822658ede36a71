package collperf

import (
	"context"
	"fmt"
	"runtime"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host"
)

// job is a row to be measured, and about how many bytes of this computer that takes.
type job struct {
	weight int64
	run    func(context.Context) (Row, error)
}

// mostMemory bounds the bytes of jobs side by side. One alone may take more.
const mostMemory = 4 << 30

// memoryForJobs returns how many bytes jobs side by side may take.
func memoryForJobs() int64 {
	if m := host.Available(); m.Total > 0 {
		return int64(min(m.Free, mostMemory))
	}
	return mostMemory
}

// inOrder runs jobs, up to so many at a time, and gives their rows to done in the order
// of the jobs. It ends with the first error in this order, and then no job runs any
// more: which rows there are does not depend on how many run at a time.
func inOrder(ctx context.Context, jobs []job, atATime int, done func(Row)) error {
	type result struct {
		job int
		row Row
		err error
	}
	results := make(chan result)
	ended := make(map[int]result) // and not given to done yet
	stop := make(map[int]context.CancelFunc)
	failed := len(jobs) // the first that has
	next, first, used, most := 0, 0, int64(0), memoryForJobs()
	for {
		for next < failed && len(stop) < atATime && (len(stop) == 0 || used+jobs[next].weight <= most) {
			i := next
			mine, cancel := context.WithCancel(ctx)
			stop[i] = cancel
			go func() {
				row, err := jobs[i].run(mine)
				results <- result{i, row, err}
			}()
			used += jobs[i].weight
			next++
		}
		if len(stop) == 0 {
			break
		}
		r := <-results
		stop[r.job]()
		delete(stop, r.job)
		used -= jobs[r.job].weight
		jobs[r.job].run = nil // with the values it holds
		ended[r.job] = r
		if r.err != nil && r.job < failed {
			failed = r.job
			for i, cancel := range stop {
				if i > failed {
					cancel() // nobody sees it
				}
			}
		}
		for ; first < failed; first++ {
			r, ok := ended[first]
			if !ok {
				break
			}
			delete(ended, first)
			done(r.row)
		}
	}
	return ended[failed].err
}

// threads is how many rows are measured at a time.
func (o *Options) threads() int {
	if o.Threads > 0 {
		return o.Threads
	}
	return runtime.GOMAXPROCS(0)
}

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
		return fmt.Errorf("%v of %d bytes: the values of all ranks are %s, too many to compute here: add --data off, or take smaller sizes", o.Collective, largest.size, host.GB(bytes))
	}
	if err := host.Check(uint64(o.memory(largest))); err != nil {
		fix := "take fewer ranks"
		if o.checks() {
			fix = "add --data off, take smaller sizes, or fewer ranks"
		}
		return fmt.Errorf("%v of %d bytes between %d ranks: %w: %s", o.Collective, o.Max, ranks, err, fix)
	}
	return nil
}
