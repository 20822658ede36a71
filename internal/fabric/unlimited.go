package fabric

import (
	"math/bits"

	"github.com/kernbench/kernbench/topology"
)

// Large messages pass links of unlimited bandwidth without an event, often several in a row.
// Only the byte counters of these links change. The state of each link would be a line to
// load into the processor cache, so the bytes are counted per run of links, and added to the
// counters of the links when Stats reads them.

// unlimitedRun is a run of successive links of unlimited bandwidth on a path. It fits into
// one cache line.
type unlimitedRun struct {
	links [maxRunLinks]stage
	n     int32 // number of links; 0 if the entry of the table is unused
	delay Time  // sum of the latencies
	bytes Bytes // carried by each link, and not yet in the counters of the links
}

const (
	maxRunLinks = 11      // longer runs are divided
	minRunTable = 1 << 6  // entries of the table of runs at the start
	maxRunTable = 1 << 18 // from this size on, runs replace others
)

// limit says whether a link has unlimited bandwidth: 0 if it is not known yet. Values above
// `unlimited` also have the number of links of the run that was found last from this link on.
type limit uint8

const (
	limited limit = iota + 1
	unlimited
)

// isUnlimited reports whether st is a link of unlimited bandwidth. It keeps the answers in an
// array of bytes, which the processor caches better than the states of links.
func (m *trains) isUnlimited(st stage) bool {
	return st >= 0 && (m.limits[st] >= unlimited || m.limits[st] == 0 && m.findLimit(st))
}

// findLimit sets m.limits of a link and reports whether its bandwidth is unlimited.
func (m *trains) findLimit(link stage) bool {
	m.limits[link] = limited
	if m.link(link).hop.Bandwidth == topology.Unlimited {
		m.limits[link] = unlimited
	}
	return m.limits[link] == unlimited
}

// passUnlimited adds the given number of bytes to the counters of the links of unlimited
// bandwidth at the start of a path. It returns the number of these links and the sum of their
// latencies.
func (m *trains) passUnlimited(path []stage, bytes Bytes) (n int32, delay Time) {
	for int(n) < len(path) && m.isUnlimited(path[n]) {
		r := m.firstRun(path[n:])
		r.bytes += bytes
		n += r.n
		delay += r.delay
	}
	m.runsPending = true
	return n, delay
}

// firstRun returns the run of links of unlimited bandwidth at the start of a path, or the
// first part of it. The path starts with such a link.
func (m *trains) firstRun(path []stage) *unlimitedRun {
	if n := int(m.limits[path[0]] - unlimited); n > 0 && n <= len(path) {
		r := &m.runs[m.runSlot(path[0], path[n-1])]
		if r.matches(path[:n]) {
			return r
		}
	}
	return m.findRun(path)
}

// matches reports whether r is the run of these links.
func (r *unlimitedRun) matches(links []stage) bool {
	if int(r.n) != len(links) {
		return false
	}
	for i, link := range links {
		if r.links[i] != link {
			return false
		}
	}
	return true
}

// findRun implements firstRun for a run that is not where firstRun looks for it. It adds the
// run to the table if necessary.
func (m *trains) findRun(path []stage) *unlimitedRun {
	n := 1
	for n < min(len(path), maxRunLinks) && m.isUnlimited(path[n]) {
		n++
	}
	links := path[:n]
	m.limits[links[0]] = unlimited + limit(n)
	if 2*m.usedRuns >= len(m.runs) && len(m.runs) < maxRunTable {
		m.growRuns()
	}
	r := &m.runs[m.runSlot(links[0], links[n-1])]
	if r.matches(links) {
		return r
	}
	m.countRun(r)
	if r.n == 0 {
		m.usedRuns++
	}
	*r = unlimitedRun{n: int32(n)}
	copy(r.links[:], links)
	for _, link := range links {
		r.delay += m.link(link).hop.Latency
	}
	return r
}

// runSlot returns the number of the only entry of the table in which a run with these first
// and last links can be.
func (m *trains) runSlot(first, last stage) uint64 {
	return (uint64(uint32(first))<<32 | uint64(uint32(last))) * 0x9e3779b97f4a7c15 >> m.runShift & uint64(len(m.runs)-1)
}

// growRuns makes the table of runs four times as large.
func (m *trains) growRuns() {
	old := m.runs
	m.runs = make([]unlimitedRun, max(minRunTable, 4*len(old)))
	m.runShift = uint(64 - bits.Len(uint(len(m.runs)-1)))
	m.usedRuns = 0
	for i := range old {
		if r := &old[i]; r.n > 0 {
			to := &m.runs[m.runSlot(r.links[0], r.links[r.n-1])]
			if to.n == 0 {
				m.usedRuns++
			}
			m.countRun(to)
			*to = *r
		}
	}
}

// countRun moves the bytes of r to the counters of its links.
func (m *trains) countRun(r *unlimitedRun) {
	if r.bytes == 0 {
		return
	}
	for _, link := range r.links[:r.n] {
		m.link(link).bytes += r.bytes
	}
	r.bytes = 0
}

// countRuns moves the bytes of all runs to the counters of their links.
func (m *trains) countRuns() {
	if !m.runsPending {
		return
	}
	m.runsPending = false
	for i := range m.runs {
		m.countRun(&m.runs[i])
	}
}
