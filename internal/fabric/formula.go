package fabric

import "github.com/kernbench/kernbench/internal/memory"

// Uncontended returns the time of a transfer of n bytes without other traffic on its path,
// in closed form. The parameter `flit` is the size of a flit. If the transfer consists of k
// whole flits, and ser is the time that a link takes to send one flit, the time is
//
//	Σ latency + Σ ser + (k-1)·max ser
//
// So the slowest link, wherever it is on the path, counts for every flit, and every other
// link counts for one flit. If the last flit is shorter than `flit`, it follows the whole
// flits: at each link it starts when it has arrived and the whole flits have left.
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
		tail := latency + sum + Time(whole-1)*slowest // when the last whole flit leaves this link
		latency += hop.Latency
		last = max(last, tail)
		if short > 0 {
			last += hop.Bandwidth.Serialize(short)
		}
		last += hop.Latency
	}
	return last
}

// Control returns how long n bytes of control information take over a path: a credit, the
// request of a read from another SIP, or an acknowledgement. Nothing delays them:
//
//	Σ latency + n / min bandwidth
func Control(path []Hop, n Bytes) (t Time) {
	var slowest Time
	for _, hop := range path {
		t += hop.Latency
		slowest = max(slowest, hop.Bandwidth.Serialize(n))
	}
	return t + slowest
}

// Departure returns when the last byte of a transfer has left the last link of a path, without
// other traffic: the time that Uncontended returns, less the latency of that link.
func Departure(path []Hop, n, flit Bytes) Time {
	return Uncontended(path, n, flit) - path[len(path)-1].Latency
}

// UncontendedHBM returns the time of a sequential transfer from or to an HBM slice without
// other traffic, in closed form. A group is one burst per channel; the transfer must start
// at the first byte of a group. The channels read one group per burst time. Group g, and
// everything after it, can start on the path only when group g has been read. So the time
// is
//
//	max over g of (g+1)·burst + path(bytes from group g on)
//
// where path(n) is the time that Uncontended returns for n bytes. The maximum is at the
// first group if the path is the bottleneck, and near the last group if the channels are
// the bottleneck. A write of whole
// groups, or of less than one group, takes the same time, because its last bytes are
// complete one burst time after they arrive. The formula holds for bursts of the size of a
// flit. ok is false where the formula does not hold.
func UncontendedHBM(path []Hop, h memory.HBM, op memory.Op, n, flit Bytes) (t Time, ok bool) {
	group := Bytes(h.Channels) * h.Burst
	if h.Burst != flit || op == memory.Write && n > group && n%group != 0 {
		return 0, false
	}
	if n == 0 {
		return Uncontended(path, 0, flit), true // 0 bytes touch no burst
	}
	last := (n - 1) / group
	for _, g := range []Bytes{0, max(0, last-1), last} {
		t = max(t, Time(g+1)*h.BurstTime+Uncontended(path, n-g*group, flit))
	}
	return t, true
}
