package draw

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// plan is a system to draw. It is laid out without its overrides, so that absent links have
// a place too.
type plan struct {
	*topology.Graph // without overrides
	at              Place
	overridden      map[pair]*overriding
}

// pair is two components, the lower id first.
type pair struct{ a, b topology.NodeID }

func pairOf(a, b topology.NodeID) pair { return pair{min(a, b), max(a, b)} }

// overriding is the effect of overrides on the links between two components.
type overriding struct {
	state state
	left  bool     // of a pair joined one way: from the lower id to the higher
	texts []string // new numbers, in the order of overrides
	dirs  []uint8  // directions that a text is about: bit 0 from the lower id, bit 1 from the higher
}

// Topology lays out a view of a compiled system. The place selects the SIP, the cube and the
// PE to show, as far as the view goes into them. Topology returns an error if there is none.
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
	d.placeTexts(sizeText, sizeMore)
	p.explainOverrides(d, s.Overrides)
	return d, nil
}

func newPlan(g *topology.Graph, at Place) (*plan, error) {
	p := &plan{Graph: g, at: at, overridden: map[pair]*overriding{}}
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
		for q, dirs := range p.pairs(o) {
			_, there := g.LinkBetween(q.a, q.b)
			_, back := g.LinkBetween(q.b, q.a)
			if p.overridden[q] == nil {
				p.overridden[q] = &overriding{state: changed}
			}
			p.overridden[q].note(o, dirs)
			switch {
			case there != back:
				p.overridden[q].state, p.overridden[q].left = oneDirection, there
			case !there:
				p.overridden[q].state = absent
			}
		}
	}
	return p, nil
}

// pairs returns the components whose links an override is about, with the directions.
func (p *plan) pairs(o topology.Override) map[pair]uint8 {
	ids, _ := p.LookupLink(o.Link) // compiled before, so the name is good
	qs := map[pair]uint8{}
	for _, id := range ids {
		q := pairOf(p.Link(id).From, p.Link(id).To)
		if p.Link(id).From == q.a {
			qs[q] |= 1
		} else {
			qs[q] |= 2
		}
	}
	return qs
}

// numbers returns the new bandwidth and latency of an override.
func numbers(o topology.Override) string {
	var texts []string
	if o.Bandwidth != nil {
		texts = append(texts, quantity(*o.Bandwidth))
	}
	if o.Latency != nil {
		texts = append(texts, quantity(*o.Latency))
	}
	return strings.Join(texts, ", ")
}

// note adds what an override says about some directions of a pair.
func (v *overriding) note(o topology.Override, dirs uint8) {
	text := numbers(o)
	if _, which, ok := strings.Cut(o.Link, "#"); ok { // one of several links
		if o.Absent {
			text = "absent"
		}
		text = "#" + which + " " + text
	}
	if text == "" {
		return // absent, which the state says
	}
	if i := slices.Index(v.texts, text); i >= 0 {
		v.dirs[i] |= dirs
		return
	}
	v.texts, v.dirs = append(v.texts, text), append(v.dirs, dirs)
}

// text returns the label of a wire of the pair. The function returns an arrow for a direction.
func (v *overriding) text(arrow func(fromLower bool) string) string {
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

// endpoints is two components in the order of the blocks that a wire joins.
type endpoints struct{ from, to topology.NodeID }

// join adds a wire for the links of pairs of components, which decide its state. Where one
// direction is left, the wire runs in that one. The text of an overridden wire is its own.
func (p *plan) join(d *Diagram, w wire, links ...endpoints) {
	var names, own []string
	states, left := map[state]int{}, map[bool]int{} // left: true for along the wire
	for _, l := range links {
		q := pairOf(l.from, l.to)
		names, w.pairs = append(names, p.Name(q.a)+" — "+p.Name(q.b)), append(w.pairs, q)
		v := p.overridden[q]
		if v == nil {
			states[asKind]++
			continue
		}
		states[v.state]++
		own = append(own, v.text(func(fromLower bool) string { return w.arrow(fromLower == (q.a == l.from)) }))
		if v.state == oneDirection {
			left[v.left == (q.a == l.from)]++
		}
	}
	w.name = strings.Join(names, "\n")
	switch all := len(links); {
	case states[asKind] == all:
	case states[absent] == all:
		w.state = absent
	case left[true] == all || left[false] == all:
		w.state, w.oneWay = oneDirection, true
		if left[false] > 0 {
			w.from, w.to = w.to, w.from
			slices.Reverse(w.path)
		}
	default:
		w.state = changed
	}
	if w.state != asKind {
		w.text = own[0]
		if len(slices.Compact(slices.Clone(own))) > 1 {
			w.text = "changed"
		}
		if len(own) < len(links) {
			w.text += fmt.Sprintf(" (%d of %d)", len(own), len(links))
		}
		w.name += "\n" + w.text
	}
	d.wires = append(d.wires, w)
}

// arrow returns an arrow along the wire, or against it.
func (w *wire) arrow(along bool) string {
	if w.path == nil {
		return ""
	}
	by := w.path[len(w.path)-1].sub(w.path[0])
	if !along {
		by = by.scale(-1)
	}
	switch {
	case math.Abs(by.x) < math.Abs(by.y) && by.y > 0:
		return " ↓"
	case math.Abs(by.x) < math.Abs(by.y):
		return " ↑"
	case by.x > 0:
		return " →"
	}
	return " ←"
}

// joinNamed joins two blocks that stand for one component each.
func (p *plan) joinNamed(d *Diagram, w wire) {
	a, _ := p.Lookup(d.blocks[w.from].name)
	b, _ := p.Lookup(d.blocks[w.to].name)
	p.join(d, w, endpoints{a, b})
}

// explainOverrides lists the overrides that the picture shows, by the state of their wires.
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
		now := asKind
		for q := range p.pairs(o) {
			now = max(now, drawn[q])
		}
		text := numbers(o)
		if o.Absent && now == changed {
			text = "absent"
		}
		texts[now] = append(texts[now], strings.TrimSpace(d.short(o.Link)+"\n"+text))
	}
	heads := [...]string{changed: "changed by overrides", oneDirection: "one direction absent", absent: "absent"}
	for now := changed; now <= absent; now++ {
		shown := texts[now]
		if more := len(shown) - most; more > 0 {
			shown = append(slices.Clone(shown[:most]), fmt.Sprintf("and %d more", more))
		}
		if len(shown) > 0 {
			d.legend = append(d.legend, legendEntry{role: fabric, line: true, state: now, text: heads[now], more: wrapLegend(shown)})
		}
	}
}

// short returns the name of a link without the prefix that the title gives.
func (d *Diagram) short(link string) string {
	if d.prefix != "" && strings.Count(link, d.prefix) == 2 {
		return strings.ReplaceAll(link, d.prefix, "")
	}
	return link
}

// out returns the links out of a component.
func (p *plan) out(id topology.NodeID) []topology.Link {
	links := p.Links()
	byFrom := func(l topology.Link, from topology.NodeID) int { return cmp.Compare(l.From, from) }
	first, _ := slices.BinarySearchFunc(links, id, byFrom)
	end, _ := slices.BinarySearchFunc(links, id+1, byFrom)
	return links[first:end]
}

// each returns a bandwidth and a latency as the legend writes them.
func each(bw topology.BytesPerSec, latency topology.Time) string {
	return bandwidth(bw) + ", " + quantity(latency)
}

// bandwidth returns a bandwidth as the legend writes it.
func bandwidth(bw topology.BytesPerSec) string {
	if bw == topology.Unlimited {
		return "unlimited bandwidth"
	}
	return quantity(bw) + " each way"
}

// wireText returns a bandwidth as the label of a wire, "" if it is unlimited.
func wireText(bw topology.BytesPerSec) string {
	if bw == topology.Unlimited {
		return ""
	}
	return quantity(bw)
}

// wireDelay returns the latency of links whose length decides it, unless a latency is given.
func (p *plan) wireDelay(latency *topology.Time) string {
	if latency != nil {
		return quantity(*latency)
	}
	return "wire " + quantity(p.Spec().System.WireDelay)
}
