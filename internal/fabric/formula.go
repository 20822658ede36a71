package fabric

import "github.com/kernbench/kernbench/internal/memory"

// Uncontended is the time of a transfer that has its path to itself, in closed
// form. With n whole flits it is
//
//	Σ latency + Σ ser + (n-1)·max ser
//
// so that a slow link is charged for every flit once, wherever it is, and all
// others for one flit. A short last flit follows the whole ones: at each link it
// leaves when both it and the way are there.
func Uncontended(path []Hop, n, flit Bytes) Time {
	whole, short := int64(n/flit), n%flit
	if whole == 0 {
		return pathTime(path, n)
	}
	var latency, sum, slowest, last Time
	for _, hop := range path {
		ser := hop.Bandwidth.Serialize(flit)
		sum += ser
		slowest = max(slowest, ser)
		tail := latency + sum + Time(whole-1)*slowest // of the whole flits, leaving here
		latency += hop.Latency
		last = max(last, tail)
		if short > 0 {
			last += hop.Bandwidth.Serialize(short)
		}
		last += hop.Latency
	}
	return last
}

// pathTime is the time of a single flit.
func pathTime(path []Hop, n Bytes) (t Time) {
	for _, hop := range path {
		t += hop.Latency + hop.Bandwidth.Serialize(n)
	}
	return t
}

// UncontendedHBM is the time of a transfer from or to an HBM slice, alone and in
// address order from a boundary of one burst per channel. Groups of that many
// bursts take a burst time each; the first is ready, or the last done, a burst
// time beside the path, and after that either the path or the channels set the
// pace:
//
//	burst + max(path(n), (groups-1)·burst + path(one group))
//
// It holds for whole groups, or less than one, of bursts as large as flits.
func UncontendedHBM(path []Hop, h memory.HBM, n, flit Bytes) (t Time, ok bool) {
	group := Bytes(h.Channels) * h.Burst
	if h.Burst != flit || n > group && n%group != 0 {
		return 0, false
	}
	groups := (n + group - 1) / group
	paced := Time(groups-1)*h.BurstTime + Uncontended(path, min(n, group), flit)
	return h.BurstTime + max(Uncontended(path, n, flit), paced), true
}
