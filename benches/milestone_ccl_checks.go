package benches

import (
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// checks is what has to hold of all points: every value is right, no latency is below
// its bound, and none falls as elements become more.
func (m *cclMilestone) checks() (list []torch.Check) {
	for _, p := range m.points {
		if p.row.Wrong != nil {
			list = append(list, torch.Check{Name: p.setting().String(), Elems: p.row.Elems, Wrong: p.row.Difference})
		}
	}
	for _, sweep := range []string{latencySweep, bufferSweep} {
		for _, s := range m.series(sweep) {
			list = append(list, aboveBound(s), rises(s))
		}
	}
	return list
}

// aboveBound checks that no point of a series is faster than anything can be.
func aboveBound(s []cclPoint) torch.Check {
	check := torch.Check{Name: s[0].name() + ": latency_ns is at least bound_ns"}
	for _, p := range s {
		if p.row.Latency < p.row.Bound {
			check.Wrong = fmt.Sprintf("%d elements take %v, less than the bound of %v", p.elems, p.row.Latency, p.row.Bound)
			break
		}
	}
	return check
}

// rises checks that more elements never take less time.
func rises(s []cclPoint) torch.Check {
	check := torch.Check{Name: s[0].name() + ": latency_ns rises with n_elem"}
	for i, p := range s[1:] {
		if fewer := s[i]; p.row.Latency < fewer.row.Latency {
			check.Wrong = fmt.Sprintf("%d elements take %v, less than the %v of %d", p.elems, p.row.Latency, fewer.row.Latency, fewer.elems)
			break
		}
	}
	return check
}
