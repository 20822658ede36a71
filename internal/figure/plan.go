package figure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// plan is a system to draw: laid out as it is without overrides, so that absent
// links have a place too, and what overrides did to it.
type plan struct {
	*topology.Graph // without overrides
	at              Place
	states          map[pair]state
	left            map[pair]bool // of pairs joined one way: from the lower id to the higher
}

// pair is two components, the lower id first.
type pair struct{ a, b topology.NodeID }

func pairOf(a, b topology.NodeID) pair { return pair{min(a, b), max(a, b)} }

// Topology lays out a view of a compiled system. The place says which SIP, cube
// and PE to show, as far as the view goes into them; it is an error when there
// is none.
func Topology(g *topology.Graph, view View, at Place) (*Diagram, error) {
	s := g.Spec()
	var missing []error
	for _, part := range []struct {
		name     string
		at, have int
	}{{"sip", at.SIP, s.System.SIPs.Count}, {"cube", at.Cube, s.CubesPerSIP()}, {"pe", at.PE, s.PEsPerCube()}} {
		if part.at < 0 || part.at >= part.have {
			missing = append(missing, fmt.Errorf("no %s%d: the last is %s%d", part.name, part.at, part.name, part.have-1))
		}
	}
	if missing != nil {
		return nil, errors.Join(missing...)
	}
	p, err := newPlan(g, at)
	if err != nil {
		return nil, err
	}
	var d *Diagram
	switch view {
	case ViewSystem:
		d = p.system()
	case ViewSIP:
		d = p.sip()
	case ViewCube:
		d = p.cube()
	case ViewPE:
		d = p.pe()
	default:
		return nil, fmt.Errorf("no view %q: draw one of %v", view, Views)
	}
	d.source, d.hash = s.Source(), s.Hash()
	p.explainOverrides(d, s.Overrides)
	return d, nil
}

func newPlan(g *topology.Graph, at Place) (*plan, error) {
	p := &plan{Graph: g, at: at, states: map[pair]state{}, left: map[pair]bool{}}
	overrides := g.Spec().Overrides
	if len(overrides) == 0 {
		return p, nil
	}
	bare := *g.Spec()
	bare.Overrides = nil
	full, err := topology.Compile(&bare)
	if err != nil {
		return nil, fmt.Errorf("lay out the system without overrides: %w", err)
	}
	p.Graph = full
	for _, o := range overrides {
		for _, q := range p.pairs(o) {
			_, there := g.LinkBetween(q.a, q.b)
			_, back := g.LinkBetween(q.b, q.a)
			switch {
			case there && back:
				p.states[q] = changed
			case there || back:
				p.states[q], p.left[q] = oneWay, there
			default:
				p.states[q] = absent
			}
		}
	}
	return p, nil
}

// pairs is the components whose links an override is about.
func (p *plan) pairs(o topology.Override) []pair {
	ids, _ := p.LookupLink(o.Link) // compiled before, so the name is good
	var qs []pair
	for _, id := range ids {
		if q := pairOf(p.Link(id).From, p.Link(id).To); !slices.Contains(qs, q) {
			qs = append(qs, q)
		}
	}
	return qs
}

// ends is two components in the order of the blocks that a wire joins.
type ends struct{ from, to topology.NodeID }

// join adds a wire for the links of pairs of components, which decide its state.
// Where one direction is left, the wire runs in that one.
func (p *plan) join(d *Diagram, w wire, links ...ends) {
	var names []string
	states, left := map[state]int{}, map[bool]int{} // left: true for along the wire
	for _, l := range links {
		q := pairOf(l.from, l.to)
		names, w.pairs = append(names, p.Name(q.a)+" — "+p.Name(q.b)), append(w.pairs, q)
		states[p.states[q]]++
		if p.states[q] == oneWay {
			left[p.left[q] == (q.a == l.from)]++
		}
	}
	w.name = strings.Join(names, "\n")
	switch all := len(links); {
	case states[asKind] == all:
	case states[absent] == all:
		w.state = absent
	case left[true] == all || left[false] == all:
		w.state, w.oneWay = oneWay, true
		if left[false] > 0 {
			w.from, w.to = w.to, w.from
			slices.Reverse(w.path)
		}
	default:
		w.state = changed
	}
	if w.label != nil && w.state != asKind { // its numbers are those of others
		w.label.text, w.label.colour = stateTexts[w.state], alarm
	}
	d.wires = append(d.wires, w)
}

// stateTexts is what labels say of overridden links.
var stateTexts = [...]string{changed: "changed", oneWay: "one way", absent: "absent"}

// explainOverrides lists the overrides that the picture shows, by the look of the
// wires that they are about.
func (p *plan) explainOverrides(d *Diagram, overrides []topology.Override) {
	const most = 5
	drawn := map[pair]state{}
	for _, w := range d.wires {
		for _, q := range w.pairs {
			drawn[q] = w.state
			if w.path == nil { // a wire that stands for several is drawn instead
				drawn[q] = min(w.state, changed)
			}
		}
	}
	var texts [absent + 1][]string
	for _, o := range overrides {
		look := asKind
		for _, q := range p.pairs(o) {
			look = max(look, drawn[q])
		}
		text := d.short(o.Link)
		if o.Bandwidth != nil {
			text += " " + quantity(*o.Bandwidth)
		}
		if o.Latency != nil {
			text += " " + quantity(*o.Latency)
		}
		if o.Absent && look == changed {
			text += " absent"
		}
		texts[look] = append(texts[look], text)
	}
	heads := [...]string{changed: "changed by overrides", oneWay: "one direction absent", absent: "absent"}
	for look := changed; look <= absent; look++ {
		shown := texts[look]
		if more := len(shown) - most; more > 0 {
			shown = append(slices.Clone(shown[:most]), fmt.Sprintf("and %d more", more))
		}
		if len(shown) > 0 {
			d.legend = append(d.legend, entry{look: fabric, line: true, state: look, text: heads[look], more: wrap(shown)})
		}
	}
}

// short is the name of a link without what the title says: the prefix that its
// ends share with everything in the picture.
func (d *Diagram) short(link string) string {
	if d.prefix != "" && strings.Count(link, d.prefix) == 2 {
		return strings.ReplaceAll(link, d.prefix, "")
	}
	return link
}

// out is the links out of a component.
func (p *plan) out(id topology.NodeID) []topology.Link {
	links := p.Links()
	byFrom := func(l topology.Link, from topology.NodeID) int { return cmp.Compare(l.From, from) }
	first, _ := slices.BinarySearchFunc(links, id, byFrom)
	end, _ := slices.BinarySearchFunc(links, id+1, byFrom)
	return links[first:end]
}

// named is the component of a name that is known to exist or not by its place.
func (p *plan) named(format string, args ...any) (topology.NodeID, bool) {
	return p.Lookup(fmt.Sprintf(format, args...))
}

// each is a bandwidth and a latency as legends write them.
func each(bw topology.BytesPerSec, latency topology.Time) string {
	return bandwidth(bw) + ", " + quantity(latency)
}

func bandwidth(bw topology.BytesPerSec) string {
	if bw == topology.Unlimited {
		return "unlimited bandwidth"
	}
	return quantity(bw) + " each way"
}

// wireDelay is the latency of links whose length decides it, unless a latency
// is given.
func (p *plan) wireDelay(latency *topology.Time) string {
	if latency != nil {
		return quantity(*latency)
	}
	return "wire " + quantity(p.Spec().System.WireDelay)
}
