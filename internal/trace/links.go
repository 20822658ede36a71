package trace

import (
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Links records the traffic of links. Each link that carries data has a track. Each kind of
// link has a counter of its utilization over time.
type Links struct {
	r         *Recorder
	about     func(link int) LinkInfo
	links     []*linkTrack // by number; nil until the link carries data
	processes map[string]*Process
	kinds     map[string]*utilization
	order     []string // kinds in the order of first use
}

// LinkInfo describes a link.
type LinkInfo struct {
	Process string // the process that shows the link's track
	Order   int    // the position of that process in viewers
	Name    string
	Kind    string // links of one kind share a utilization counter
	Count   int    // the number of links of the kind
}

// linkTrack is the track of a link.
type linkTrack struct {
	*Track
	kind    *utilization
	pending []passage // passages that may still change, in order of their starts
	args    [2]Arg
}

// passage is data that passes a link.
type passage struct {
	id         uint64
	class      string
	bytes      int64
	waited     simtime.Time
	start, end simtime.Time
}

// Links returns a recorder for n links. The function `about` returns the description of a
// link.
func (r *Recorder) Links(n int, about func(link int) LinkInfo) *Links {
	return &Links{r: r, about: about, links: make([]*linkTrack, n), processes: map[string]*Process{}, kinds: map[string]*utilization{}}
}

// Cut changes the passage with the given id, which has not ended: the link carries only
// `bytes` bytes of it, until the time `end`. A passage without bytes has no slice.
func (ls *Links) Cut(link int, id uint64, bytes int64, end simtime.Time) {
	l := ls.links[link]
	i := slices.IndexFunc(l.pending, func(p passage) bool { return p.id == id })
	switch {
	case i < 0:
	case bytes == 0:
		l.pending = slices.Delete(l.pending, i, i+1)
	default:
		p := &l.pending[i]
		p.bytes, p.end = bytes, max(p.start, end)
	}
}

// Passage records that a link carries bytes from the time `start` to the time `end`. The id
// identifies the passage in later calls of Cut. If passages overlap, each slice ends where
// the next one starts, because both transfers have gaps in which the other one uses the
// link. `waited` is how long the data waited for the link. `now` is the current time:
// passages that ended before it are final.
func (ls *Links) Passage(link int, id uint64, class string, bytes int64, waited, start, end, now simtime.Time) {
	l := ls.links[link]
	if l == nil {
		l = ls.add(link)
	}
	if n := len(l.pending); n > 0 {
		start = max(start, l.pending[n-1].start)
	}
	l.pending = append(l.pending, passage{id, class, bytes, waited, start, max(start, end)})
	n := 0
	for ; l.pending[n].end < now && n+1 < len(l.pending); n++ {
		l.write(n)
	}
	l.pending = slices.Delete(l.pending, 0, n)
}

// add adds a track for a link that carries data for the first time.
func (ls *Links) add(link int) *linkTrack {
	about := ls.about(link)
	p := ls.processes[about.Process]
	if p == nil {
		p = ls.r.Process(about.Process, about.Order)
		ls.processes[about.Process] = p
	}
	k := ls.kinds[about.Kind]
	if k == nil {
		k = &utilization{width: simtime.Nanosecond, links: about.Count}
		ls.kinds[about.Kind] = k
		ls.order = append(ls.order, about.Kind)
	}
	ls.links[link] = &linkTrack{Track: p.Track(about.Name), kind: k}
	return ls.links[link]
}

// write writes pending passage number i as a slice of the trace and adds it to the
// utilization of the link's kind.
func (l *linkTrack) write(i int) {
	p := &l.pending[i]
	if i+1 < len(l.pending) {
		p.end = min(p.end, l.pending[i+1].start)
	}
	l.args = [2]Arg{Number("bytes", p.bytes), Nanoseconds("wait_ns", p.waited)}
	l.Track.Slice(Slice{Name: p.class, Start: p.start, End: p.end, Args: l.args[:]})
	l.kind.add(p.start, p.end)
}

// Close writes the pending slices of each link and the utilization counters. order is the
// position of the counters in viewers.
func (ls *Links) Close(order int) {
	for _, l := range ls.links {
		if l != nil {
			for i := range l.pending {
				l.write(i)
			}
		}
	}
	if len(ls.order) == 0 {
		return
	}
	p := ls.r.Process("link use", order)
	for _, kind := range ls.order {
		ls.kinds[kind].write(p, kind)
	}
}

// windows is the maximum number of time windows of a utilization. When the time exceeds the
// windows, their width doubles.
const windows = 512

// utilization is the busy time of the links of a kind, by time window.
type utilization struct {
	width simtime.Time          // of a window
	links int                   // number of links of the kind
	busy  [windows]simtime.Time // sum over all links
	used  int                   // number of windows in use
}

// add records that one link was busy from the time `start` to the time `end`. It makes the
// windows wider if `end` is after the last window.
func (w *utilization) add(start, end simtime.Time) {
	for end > w.width*windows {
		for i := range windows / 2 {
			w.busy[i] = w.busy[2*i] + w.busy[2*i+1]
		}
		clear(w.busy[windows/2:])
		w.width *= 2
		w.used = (w.used + 1) / 2
	}
	for start < end {
		i := int(start / w.width)
		until := min(end, simtime.Time(i+1)*w.width)
		w.busy[i] += until - start
		start = until
		w.used = max(w.used, i+1)
	}
}

// write writes the utilization in percent as a counter of process p. It writes a value
// wherever the utilization changes.
func (w *utilization) write(p *Process, kind string) {
	last := -1.0
	for i := range w.used + 1 {
		share := 0.0
		if i < w.used {
			share = 100 * float64(w.busy[i]) / float64(w.width) / float64(w.links)
		}
		if share != last {
			p.Counter(simtime.Time(i)*w.width, kind, "percent", share)
		}
		last = share
	}
}
