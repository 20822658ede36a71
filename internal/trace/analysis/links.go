package analysis

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// LinkTotal is the traffic of a link in the whole run, as the trace states it.
type LinkTotal struct {
	Name  string       `json:"name"`
	Kind  string       `json:"kind"`
	Bytes int64        `json:"bytes"`
	Busy  simtime.Time `json:"-"` // time in which the link carried data
}

// Link is the traffic of a link in an interval.
type Link struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	Bytes  int64        `json:"bytes"`
	Busy   simtime.Time `json:"busy_ns"` // time in which the link carried these bytes
	Share  float64      `json:"busy_share"`
	Trains int64        `json:"trains"`
	Queued simtime.Time `json:"queued_ns"`        // sum of the times that heads of trains waited for the link
	Mean   simtime.Time `json:"mean_queued_ns"`   // Queued per train
	Whole  float64      `json:"trace_busy_share"` // busy share in the whole trace
}

// LinkKind is the traffic of all links of a kind.
type LinkKind struct {
	Kind   string       `json:"kind"`
	Links  int          `json:"links"` // number of links that carried data
	Bytes  int64        `json:"bytes"`
	Mean   float64      `json:"mean_busy_share"`
	Max    float64      `json:"max_busy_share"`
	Most   string       `json:"max_link"` // the link with the largest busy share
	Queued simtime.Time `json:"queued_ns"`
}

// Links is the utilization of links in an interval.
type Links struct {
	Time    simtime.Time `json:"ns"` // length of the interval
	Kinds   []LinkKind   `json:"kinds"`
	Busiest []Link       `json:"busiest"`
	Queued  []Link       `json:"most_queued"`
}

// linkRecord is a link in the form of the file.
type linkRecord struct {
	LinkTotal
	Busy json.Number `json:"busy_ns"`
}

func (r *linkRecord) read() (total LinkTotal, err error) {
	total = r.LinkTotal
	total.Busy, err = parseTime([]byte(r.Busy), placesNS)
	return total, named([]byte("busy_ns"), err)
}

// Links adds up the traffic of each link. It counts the trains that began at or after the
// time `from` and before the time `to`. It lists at most `top` of the busiest links, at
// most `top` of the links with the longest waits, and the sums by kind of link.
//
// The slice of a train lasts from its first flit to its last flit and may have gaps, so it
// does not show how long the link was busy with the train. Only the busy time of all trains
// of a link together is known. Links divides it among trains in proportion to bytes.
func (t *Trace) Links(from, to simtime.Time, top int) Links {
	r := Links{Time: to - from}
	traffic := t.linkTraffic(from, to)
	var all []Link
	for _, total := range t.About.Links {
		l := traffic[total.Name]
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

// linkTraffic returns the bytes, the trains and the waiting times of each link, by the name
// of the link. It counts the trains that began at or after the time `from` and before the
// time `to`.
func (t *Trace) linkTraffic(from, to simtime.Time) map[string]Link {
	byTrack := make([]Link, len(t.tracks))
	for i := range t.slices {
		if s := &t.slices[i]; from <= s.start && s.start < to {
			l := &byTrack[s.track]
			l.Bytes += s.bytes
			l.Queued += s.queued
			l.Trains++
		}
	}
	byName := map[string]Link{}
	for i := range t.tracks {
		byName[t.tracks[i].name] = byTrack[i]
	}
	return byName
}

// linkKinds adds up the traffic of links of the same kind.
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

// topLinks returns the links with the largest values, at most `top` links. The function
// `value` returns the value of a link. topLinks omits links with value 0 and sorts links
// with equal values by name.
func topLinks(all []Link, top int, value func(*Link) simtime.Time) []Link {
	all = slices.DeleteFunc(slices.Clone(all), func(l Link) bool { return value(&l) == 0 })
	slices.SortFunc(all, func(a, b Link) int {
		return cmp.Or(cmp.Compare(value(&b), value(&a)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(top, len(all))]
}

// share returns `part` divided by `whole`, or 0 if `whole` is 0.
func share(part, whole simtime.Time) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
