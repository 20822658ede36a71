package trace

import "github.com/kernbench/kernbench/simtime"

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

// linkTrack is the track of a link and its last slice, which a later call may shorten.
type linkTrack struct {
	*Track
	kind *utilization
	Slice
	args [2]Arg
	any  bool // there is a slice
}

// Links returns a recorder for n links. The function `about` returns the description of a
// link.
func (r *Recorder) Links(n int, about func(link int) LinkInfo) *Links {
	return &Links{r: r, about: about, links: make([]*linkTrack, n), processes: map[string]*Process{}, kinds: map[string]*utilization{}}
}

// Cut sets the number of bytes of the last slice of a link. If the slice ends after the
// time `end`, Cut makes it end at that time.
func (ls *Links) Cut(link int, bytes int64, end simtime.Time) {
	l := ls.links[link]
	l.args[0] = Number("bytes", bytes)
	l.End = min(l.End, end)
}

// Passage records that a link carries bytes from the time `start` to the time `end`. If
// `start` is before the end of the link's last slice, the last slice is shortened to end at
// `start`, because both transfers have gaps in which the other one uses the link. `waited`
// is how long the data waited for the link.
func (ls *Links) Passage(link int, class string, bytes int64, waited, start, end simtime.Time) {
	l := ls.links[link]
	if l == nil {
		l = ls.add(link)
	}
	if l.any {
		start = max(start, l.Start)
		end = max(end, start)
		l.End = min(l.End, start)
		l.write()
	}
	l.any = true
	l.args = [2]Arg{Number("bytes", bytes), Nanoseconds("wait_ns", waited)}
	l.Slice = Slice{Name: class, Start: start, End: end}
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

// write writes the last slice of the link to the trace and adds it to the utilization of
// the link's kind.
func (l *linkTrack) write() {
	l.Args = l.args[:]
	l.Track.Slice(l.Slice)
	l.kind.add(l.Start, l.End)
}

// Close writes the last slice of each link and the utilization counters. `order` is the
// position of the counters in viewers.
func (ls *Links) Close(order int) {
	for _, l := range ls.links {
		if l != nil && l.any {
			l.write()
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
