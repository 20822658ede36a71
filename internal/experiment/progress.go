package experiment

import (
	"slices"
	"time"
)

// pace estimates the time left from the costs of the points that have ended and the time
// that they took.
type pace struct {
	costs []float64 // costs of points, by index
	cost  float64   // sum of the costs of the points that this process has run
	took  time.Duration

	estimate time.Duration // the latest estimate
	at       time.Time     // time of the estimate; zero if there is none yet
}

// estimateEvery is the shortest time between two estimates. It limits the time that
// estimates take if there are many points.
const estimateEvery = time.Second

// left estimates the time until the last point ends. `now` holds the points that run, and
// todo the points that have not started. The estimate assumes that the points in todo start
// in order, each as soon as a worker is free. The result is negative if unknown.
func (p *pace) left(now map[int]*running, todo []int) time.Duration {
	switch {
	case len(now)+len(todo) == 0:
		return 0
	case p.cost == 0 || len(now) == 0:
		return -1
	case !p.at.IsZero() && time.Since(p.at) < estimateEvery:
		return max(0, p.estimate-time.Since(p.at))
	}
	each := float64(p.took) / p.cost
	var free []float64 // when the workers are free, in nanoseconds from now, ascending
	for index, r := range now {
		free = append(free, max(0, each*p.costs[index]-float64(time.Since(r.started))))
	}
	slices.Sort(free)
	for _, index := range todo {
		end := free[0] + each*p.costs[index]
		at, _ := slices.BinarySearch(free[1:], end)
		copy(free, free[1:at+1])
		free[at] = end
	}
	p.estimate, p.at = time.Duration(min(slices.Max(free), 1<<62)), time.Now()
	return p.estimate
}
