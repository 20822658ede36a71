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
	var latency, sum, slowest, last Time
	if whole == 0 {
		for _, hop := range path {
			last += hop.Latency + hop.Bandwidth.Serialize(n)
		}
		return last
	}
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

// UncontendedHBM is the time of a transfer from or to an HBM slice, alone and in
// address order from a boundary of one burst per channel. Groups of that many
// bursts take a burst time each; what is behind group g goes its way when that is
// there:
//
//	max over g of (g+1)·burst + path(what is left from group g on)
//
// which is largest at the first group, where the path sets the pace, or towards
// the last, where the channels do. With whole groups, or less than one, a write
// takes as long: what has come over the path is done a burst time later. It holds
// for bursts as large as flits.
func UncontendedHBM(path []Hop, h memory.HBM, op memory.Op, n, flit Bytes) (t Time, ok bool) {
	group := Bytes(h.Channels) * h.Burst
	if h.Burst != flit || op == memory.Write && n > group && n%group != 0 {
		return 0, false
	}
	if n == 0 {
		return Uncontended(path, 0, flit), true // touches no burst
	}
	last := (n - 1) / group
	for _, g := range []Bytes{0, max(0, last-1), last} {
		t = max(t, Time(g+1)*h.BurstTime+Uncontended(path, n-g*group, flit))
	}
	return t, true
}
