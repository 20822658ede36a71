package experiment

import (
	"slices"
	"time"
)

// pace estimates the time left from the time that the points so far took for their costs.
type pace struct {
	costs []float64 // by index
	cost  float64   // of the points that this process has run
	took  time.Duration

	known time.Duration // the latest estimate
	at    time.Time     // of known; zero: none yet
}

// estimateEvery bounds the time that estimates take if there are many points.
const estimateEvery = time.Second

// left returns the time until the last point has ended, if the points to do begin in order,
// each as soon as one before it ends.
func (p *pace) left(now map[int]*running, todo []int) time.Duration {
	switch {
	case len(now)+len(todo) == 0:
		return 0
	case p.cost == 0 || len(now) == 0:
		return -1
	case !p.at.IsZero() && time.Since(p.at) < estimateEvery:
		return max(0, p.known-time.Since(p.at))
	}
	each := float64(p.took) / p.cost
	var free []float64 // when the workers are free, in nanoseconds from now, ascending
	for index, r := range now {
		free = append(free, max(0, each*p.costs[index]-float64(time.Since(r.begun))))
	}
	slices.Sort(free)
	for _, index := range todo {
		end := free[0] + each*p.costs[index]
		at, _ := slices.BinarySearch(free[1:], end)
		copy(free, free[1:at+1])
		free[at] = end
	}
	p.known, p.at = time.Duration(min(slices.Max(free), 1<<62)), time.Now()
	return p.known
}
