package trace

import "github.com/kernbench/kernbench/simtime"

// Links records what links carry: a track for each that carries anything, and for each
// kind how much of it is at work, window by window.
type Links struct {
	r         *Recorder
	about     func(link int) LinkInfo
	links     []*linkTrack // by number; nil until it is used
	processes map[string]*Process
	kinds     map[string]*window
	order     []string // of kinds, as they came up
}

// LinkInfo is what to call a link.
type LinkInfo struct {
	Process string // that its track is in, and where that is shown
	Order   int
	Name    string
	Kind    string // links of a kind are counted together,
	Count   int    // so many of them
}

// linkTrack is the track of a link, and the slice that may still be cut short.
type linkTrack struct {
	*Track
	kind *window
	Slice
	args [2]Arg
	any  bool
}

// Links is the links of a machine, about which a function knows.
func (r *Recorder) Links(n int, about func(link int) LinkInfo) *Links {
	return &Links{r: r, about: about, links: make([]*linkTrack, n), processes: map[string]*Process{}, kinds: map[string]*window{}}
}

// Cut notes that of what a link has carried last it carries fewer bytes for now, up to an
// instant.
func (ls *Links) Cut(link int, bytes int64, end simtime.Time) {
	l := ls.links[link]
	l.args[0] = Number("bytes", bytes)
	l.End = min(l.End, end)
}

// Passage notes that a link carries something. If that comes before what it carried last
// has ended, the slice of that ends there: both have gaps.
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

func (ls *Links) add(link int) *linkTrack {
	about := ls.about(link)
	p := ls.processes[about.Process]
	if p == nil {
		p = ls.r.Process(about.Process, about.Order)
		ls.processes[about.Process] = p
	}
	k := ls.kinds[about.Kind]
	if k == nil {
		k = &window{width: simtime.Nanosecond, links: about.Count}
		ls.kinds[about.Kind] = k
		ls.order = append(ls.order, about.Kind)
	}
	ls.links[link] = &linkTrack{Track: p.Track(about.Name), kind: k}
	return ls.links[link]
}

func (l *linkTrack) write() {
	l.Args = l.args[:]
	l.Track.Slice(l.Slice)
	l.kind.add(l.Start, l.End)
}

// Close writes what is left.
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

// windows is how many windows of time there are at most: as time goes on they get wider.
const windows = 512

// window is how much of its time a kind of link is at work.
type window struct {
	width simtime.Time
	links int
	busy  [windows]simtime.Time // in all links together
	used  int
}

// add notes that a link was at work.
func (w *window) add(start, end simtime.Time) {
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

// write writes the shares as a counter, where they change.
func (w *window) write(p *Process, kind string) {
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
