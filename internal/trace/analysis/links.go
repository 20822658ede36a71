package analysis

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// LinkTotal is what the run says of a link: all it carried in the whole trace.
type LinkTotal struct {
	Name  string       `json:"name"`
	Kind  string       `json:"kind"`
	Bytes int64        `json:"bytes"`
	Busy  simtime.Time `json:"-"` // carrying data
}

// Link is what a link carried in some time.
type Link struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Bytes  int64        `json:"bytes"`
	Busy   simtime.Time `json:"busy_ns"` // carrying these
	Share  float64      `json:"busy_share"`
	Trains int64        `json:"trains"`
	Queued simtime.Time `json:"queued_ns"` // the heads of all trains, in front of it
	Mean   simtime.Time `json:"mean_queued_ns"`
	Whole  float64      `json:"trace_busy_share"` // of the whole trace
}

// LinkKind is what links of a kind carried together.
type LinkKind struct {
	Kind   string       `json:"kind"`
	Links  int          `json:"links"` // that carried anything
	Bytes  int64        `json:"bytes"`
	Mean   float64      `json:"mean_busy_share"`
	Max    float64      `json:"max_busy_share"`
	Most   string       `json:"max_link"`
	Queued simtime.Time `json:"queued_ns"`
}

// Links is how busy links were in some time.
type Links struct {
	Time    simtime.Time `json:"ns"`
	Kinds   []LinkKind   `json:"kinds"`
	Busiest []Link       `json:"busiest"`
	Queued  []Link       `json:"most_queued"`
}

// linkRecord is a link as the file has it.
type linkRecord struct {
	LinkTotal
	Busy json.Number `json:"busy_ns"`
}

func (r *linkRecord) read() (total LinkTotal, err error) {
	total = r.LinkTotal
	total.Busy, err = parseTime([]byte(r.Busy), placesNS)
	return total, named([]byte("busy_ns"), err)
}

// Links sums up what links carried from an instant to another, by the trains that began
// in between: those that were busiest, those that were waited for longest, at most so many
// of each, and all by kind. A slice is the time from the first flit of a train to its last,
// with gaps; how long its data took is known of all trains of a link together, and is shared
// out by bytes.
func (t *Trace) Links(from, to simtime.Time, top int) Links {
	r := Links{Time: to - from}
	carried := t.carried(from, to)
	var all []Link
	for _, total := range t.About.Links {
		l := carried[total.Name]
		if l.Bytes <= 0 || total.Bytes <= 0 {
			continue
		}
		l.Name, l.Kind, l.Mean = total.Name, total.Kind, l.Queued/simtime.Time(l.Trains)
		l.Busy = simtime.MulDiv(uint64(total.Busy), uint64(l.Bytes), uint64(total.Bytes))
		l.Share, l.Whole = share(l.Busy, r.Time), share(total.Busy, t.To-t.From)
		all = append(all, l)
	}
	r.Kinds = linkKinds(all)
	r.Busiest = topLinks(all, top, func(l *Link) simtime.Time { return l.Busy })
	r.Queued = topLinks(all, top, func(l *Link) simtime.Time { return l.Queued })
	return r
}

// carried is the bytes and trains of links, by name.
func (t *Trace) carried(from, to simtime.Time) map[string]Link {
	of := make([]Link, len(t.tracks))
	for i := range t.slices {
		if s := &t.slices[i]; from <= s.start && s.start < to {
			l := &of[s.track]
			l.Bytes += s.bytes
			l.Queued += s.queued
			l.Trains++
		}
	}
	byName := map[string]Link{}
	for i := range t.tracks {
		byName[t.tracks[i].name] = of[i]
	}
	return byName
}

// linkKinds sums up links by kind.
func linkKinds(all []Link) (list []LinkKind) {
	for _, l := range all {
		i := slices.IndexFunc(list, func(k LinkKind) bool { return k.Kind == l.Kind })
		if i < 0 {
			i = len(list)
			list = append(list, LinkKind{Kind: l.Kind, Most: l.Name})
		}
		k := &list[i]
		k.Links++
		k.Bytes += l.Bytes
		k.Mean += l.Share
		k.Queued += l.Queued
		if l.Share > k.Max {
			k.Max, k.Most = l.Share, l.Name
		}
	}
	for i := range list {
		list[i].Mean /= float64(list[i].Links)
	}
	return list
}

// topLinks are those that have most of something, by name where they have the same.
func topLinks(all []Link, top int, of func(*Link) simtime.Time) []Link {
	all = slices.DeleteFunc(slices.Clone(all), func(l Link) bool { return of(&l) == 0 })
	slices.SortFunc(all, func(a, b Link) int {
		return cmp.Or(cmp.Compare(of(&b), of(&a)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(top, len(all))]
}

func share(part, whole simtime.Time) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
