package figure

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/topology"
)

// plan is a system to draw: laid out as it is without overrides, so that absent
// links have a place too, and what overrides did to it.
type plan struct {
	*topology.Graph // without overrides
	at              Place
	states          map[pair]state
}

// pair is two components, the lower id first.
type pair struct{ a, b topology.NodeID }

func pairOf(a, b topology.NodeID) pair { return pair{min(a, b), max(a, b)} }

// Topology lays out a view of a compiled system. The place says which SIP, cube
// and PE to show, as far as the view goes into them; it is an error when there
// is none.
func Topology(g *topology.Graph, view View, at Place) (*Diagram, error) {
	s := g.Spec()
	for _, part := range []struct {
		name     string
		at, have int
	}{{"sip", at.SIP, s.System.SIPs.Count}, {"cube", at.Cube, s.CubesPerSIP()}, {"pe", at.PE, s.PEsPerCube()}} {
		if part.at < 0 || part.at >= part.have {
			return nil, fmt.Errorf("no %s%d: the last is %s%d", part.name, part.at, part.name, part.have-1)
		}
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
	d.subtitle = fmt.Sprintf("%s (hash %s)", s.Source(), s.Hash())
	p.explainOverrides(d, s.Overrides)
	return d, nil
}

func newPlan(g *topology.Graph, at Place) (*plan, error) {
	p := &plan{Graph: g, at: at, states: map[pair]state{}}
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
			p.states[q] = changed
			if !there && !back {
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

// join adds a wire for the links of pairs of components, which decide its state.
func (p *plan) join(d *Diagram, w wire, pairs ...pair) {
	gone := 0
	for _, q := range pairs {
		w.name += p.Name(q.a) + " — " + p.Name(q.b) + "\n"
		switch p.states[q] {
		case absent:
			gone++
			w.state = changed
		case changed:
			w.state = changed
		}
	}
	if gone == len(pairs) {
		w.state = absent
	}
	if w.label != nil && w.state != asKind { // its numbers are those of others
		w.label.text, w.label.colour = [...]string{changed: "changed", absent: "absent"}[w.state], alarm
	}
	w.name = w.name[:max(0, len(w.name)-1)]
	w.pairs = pairs
	d.wires = append(d.wires, w)
}

// explainOverrides lists the overrides that the picture shows.
func (p *plan) explainOverrides(d *Diagram, overrides []topology.Override) {
	const most = 5
	drawn := map[pair]bool{}
	for _, w := range d.wires {
		for _, q := range w.pairs {
			drawn[q] = true
		}
	}
	var texts [2][]string // changed, absent
	for _, o := range overrides {
		if !slices.ContainsFunc(p.pairs(o), func(q pair) bool { return drawn[q] }) {
			continue
		}
		if o.Absent {
			texts[1] = append(texts[1], o.Link)
			continue
		}
		text := o.Link
		if o.Bandwidth != nil {
			text += " " + quantity(*o.Bandwidth)
		}
		if o.Latency != nil {
			text += " " + quantity(*o.Latency)
		}
		texts[0] = append(texts[0], text)
	}
	for i, state := range []state{changed, absent} {
		shown := texts[i]
		if more := len(shown) - most; more > 0 {
			shown = append(slices.Clone(shown[:most]), fmt.Sprintf("and %d more", more))
		}
		if len(shown) > 0 {
			d.legend = append(d.legend, entry{look: fabric, line: true, state: state, text: [...]string{"changed by overrides", "absent"}[i], more: wrap(shown)})
		}
	}
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
