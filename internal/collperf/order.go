package collperf

import (
	"context"
	"runtime"
)

// job is a row to be measured, and about how many bytes of this computer that takes.
type job struct {
	weight int64
	run    func(context.Context) (Row, error)
}

// mostMemory bounds the bytes of jobs side by side. One alone may take more.
const mostMemory = 4 << 30

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
	stop := make(map[int]context.CancelFunc, atATime)
	failed := len(jobs) // the first that has
	next, first, used := 0, 0, int64(0)
	for {
		for next < failed && len(stop) < atATime && (len(stop) == 0 || used+jobs[next].weight <= mostMemory) {
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

// memory is about how many bytes a row takes: the machine, and values of ranks in its
// memory, in the op log, and here.
func (o *Options) memory(p *problem) int64 {
	const perPE = 8 << 10
	spec := o.Topology.Spec()
	machine := int64(spec.System.SIPs.Count*spec.CubesPerSIP()*spec.PEsPerCube()) * perPE
	if !o.checks() {
		return machine
	}
	return machine + int64(min(4*p.bytes(), 1<<60))
}
