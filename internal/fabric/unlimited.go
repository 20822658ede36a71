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
	last  stage // last stage of the path
	n     int32 // number of links; 0 if the entry of the table is unused
	delay Time  // sum of the latencies
	bytes Bytes // carried by each link, and not yet in the counters of the links
}

const (
	maxRunLinks = 10      // longer runs are divided
	minRunTable = 1 << 6  // entries of the table of runs at the start
	maxRunTable = 1 << 18 // the table does not grow further; runs without an entry are counted link by link
)

// limit says whether a link has unlimited bandwidth; 0 if it is not known yet.
type limit uint8

const (
	limited limit = iota + 1
	unlimited
)

// isUnlimited reports whether st is a link of unlimited bandwidth. It keeps the answers in an
// array of bytes, which the processor caches better than the states of links.
func (m *trains) isUnlimited(st stage) bool {
	return st >= 0 && (m.limits[st] == unlimited || m.limits[st] == 0 && m.findLimit(st))
}

// findLimit sets m.limits of a link and reports whether its bandwidth is unlimited. A train
// skips no link that leads to another partition.
func (m *trains) findLimit(link stage) bool {
	m.limits[link] = limited
	if m.net.Hop(link).Bandwidth == topology.Unlimited && !m.crosses(link) {
		m.limits[link] = unlimited
	}
	return m.limits[link] == unlimited
}

// crosses reports whether a link leads to another partition.
func (m *trains) crosses(link stage) bool {
	if m.parts == nil {
		return false
	}
	of, after := m.parts.Partitions(link)
	return of != after
}

// settle moves the bytes of all runs to the counters of their links and clears the table.
func (m *trains) settle() {
	m.countRuns()
	clear(m.runs)
	m.usedRuns = 0
}

// passUnlimited adds the given number of bytes to the counters of the links of unlimited
// bandwidth at the start of a path. It returns the number of these links and the sum of their
// latencies.
func (m *trains) passUnlimited(path []stage, bytes Bytes) (n int32, delay Time) {
	m.runsPending = true
	for len(path) > 0 && m.isUnlimited(path[0]) {
		if r := m.firstRun(path); r != nil {
			r.bytes += bytes
			n, delay, path = n+r.n, delay+r.delay, path[r.n:]
		} else {
			l := m.link(path[0])
			l.bytes += bytes
			n, delay, path = n+1, delay+l.hop.Latency, path[1:]
		}
	}
	return n, delay
}

// firstRun returns the run of links of unlimited bandwidth at the start of a path, or the
// first part of it. The path starts with such a link. firstRun adds the run to the table if
// necessary, and returns nil if the table is full.
func (m *trains) firstRun(path []stage) *unlimitedRun {
	slot := m.runSlot(path[0], path[len(path)-1])
	if r := &m.runs[slot]; r.leads(path) {
		return r
	}
	if r := &m.runs[slot^1]; r.leads(path) {
		return r
	}
	return m.addRun(path)
}

// leads reports whether a path starts with the links of r.
func (r *unlimitedRun) leads(path []stage) bool {
	links := r.links[:r.n]
	if len(links) == 0 || len(links) > len(path) {
		return false
	}
	for i, link := range links {
		if path[i] != link {
			return false
		}
	}
	return true
}

// addRun implements firstRun for a run that is not in the table.
func (m *trains) addRun(path []stage) *unlimitedRun {
	if 4*m.usedRuns >= len(m.runs) && len(m.runs) < maxRunTable {
		m.growRuns()
	}
	last := path[len(path)-1]
	r := m.freeRun(path[0], last)
	if r.n == 0 {
		m.usedRuns++
	} else if len(m.runs) == maxRunTable {
		return nil
	}
	m.countRun(r)
	*r = unlimitedRun{last: last}
	for int(r.n) < min(len(path), maxRunLinks) && m.isUnlimited(path[r.n]) {
		r.links[r.n] = path[r.n]
		r.delay += m.link(path[r.n]).hop.Latency
		r.n++
	}
	return r
}

// freeRun returns an entry of the table for a new run at the start of a path with these first
// and last stages. The entry is unused if possible.
func (m *trains) freeRun(first, last stage) *unlimitedRun {
	slot := m.runSlot(first, last)
	if r := &m.runs[slot]; r.n == 0 {
		return r
	}
	return &m.runs[slot^1]
}

// runSlot returns the number of an entry of the table. A run at the start of a path with these
// first and last stages is in this entry, or in the one with the number slot^1.
func (m *trains) runSlot(first, last stage) uint64 {
	return (uint64(uint32(first))<<32 | uint64(uint32(last))) * 0x9e3779b97f4a7c15 >> m.runShift
}

// growRuns makes the table of runs four times as large.
func (m *trains) growRuns() {
	old := m.runs
	m.runs = make([]unlimitedRun, max(minRunTable, 4*len(old)))
	m.runShift = 64 - bits.TrailingZeros(uint(len(m.runs)))
	m.usedRuns = 0
	for i := range old {
		if r := &old[i]; r.n > 0 {
			to := m.freeRun(r.links[0], r.last)
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
