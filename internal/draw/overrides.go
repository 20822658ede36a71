package draw

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// pair is two components, the lower id first.
type pair struct{ a, b topology.NodeID }

func newPair(a, b topology.NodeID) pair { return pair{min(a, b), max(a, b)} }

// overrideEffect is the effect of overrides on the links between two components.
type overrideEffect struct {
	state     state
	fromLower bool     // with state oneDirection: the remaining link leads from the lower id to the higher
	texts     []string // new numbers, in the order of the overrides
	dirs      []uint8  // directions that each text applies to: bit 0 from the lower id, bit 1 from the higher
}

// overriddenPair returns the two components whose links an override changes, and the
// directions that it changes, encoded as in overrideEffect.dirs.
func (p *builder) overriddenPair(o topology.Override) (q pair, dirs uint8) {
	ids, _ := p.LookupLink(o.Link) // the name is valid because the system was compiled before
	for _, id := range ids {
		l := p.Link(id)
		q = newPair(l.From, l.To)
		if l.From == q.a {
			dirs |= 1
		} else {
			dirs |= 2
		}
	}
	return q, dirs
}

// addText appends the new bandwidth and latency of override o to the texts, for the
// directions in dirs. If an equal text exists, addText only adds the directions to it. It
// appends nothing if o removes all links.
func (v *overrideEffect) addText(o topology.Override, dirs uint8) {
	text := strings.Join(o.Numbers(), ", ")
	if _, which, ok := strings.Cut(o.Link, "#"); ok { // the override names one of several links
		if o.Absent {
			text = "absent"
		}
		text = "#" + which + " " + text
	}
	if text == "" {
		return // absent, which the state records
	}
	if i := slices.Index(v.texts, text); i >= 0 {
		v.dirs[i] |= dirs
		return
	}
	v.texts, v.dirs = append(v.texts, text), append(v.dirs, dirs)
}

// text returns the label of a wire between the two components: "absent", "one way", or the
// new numbers. If links remain in only one direction, each number is followed by "one way".
// Otherwise, a number that applies to only one direction is followed by an arrow in this
// direction. The function `arrow` returns the arrow.
func (v *overrideEffect) text(arrow func(fromLower bool) string) string {
	switch {
	case v.state == absent:
		return "absent"
	case v.state == oneDirection && v.texts == nil:
		return "one way"
	}
	var texts []string
	for i, text := range v.texts {
		switch {
		case v.state == oneDirection:
			text += " one way"
		case v.dirs[i] != 3:
			text += arrow(v.dirs[i] == 1)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// explainOverrides adds the given overrides to the legend, if the picture shows their
// links. The overrides are grouped by the state of the wires.
func (p *builder) explainOverrides(d *Diagram, overrides []topology.Override) {
	const most = 5
	drawn := map[pair]state{}
	for _, w := range d.wires {
		for _, q := range w.pairs {
			drawn[q] = w.state
			if w.path == nil { // a wire that stands for several wires is drawn instead
				drawn[q] = min(w.state, changed)
			}
		}
	}
	var texts [absent + 1][]string
	for _, o := range overrides {
		q, _ := p.overriddenPair(o)
		now, text := drawn[q], strings.Join(o.Numbers(), ", ")
		if o.Absent && now == changed {
			text = "absent"
		}
		texts[now] = append(texts[now], strings.TrimSpace(d.shortLink(o.Link)+"\n"+text))
	}
	for now := changed; now <= absent; now++ {
		shown := texts[now]
		if more := len(shown) - most; more > 0 {
			shown = append(slices.Clone(shown[:most]), fmt.Sprintf("and %d more", more))
		}
		if len(shown) > 0 {
			d.legend = append(d.legend, legendEntry{role: fabric, line: true, state: now, text: states[now].legend, more: wrapLegend(shown)})
		}
	}
}

// shortLink returns the name of a link. If both ends of the link have the prefix that all
// components in the picture share, it leaves the prefix out.
func (d *Diagram) shortLink(link string) string {
	if d.prefix != "" && strings.Count(link, d.prefix) == 2 {
		return strings.ReplaceAll(link, d.prefix, "")
	}
	return link
}
