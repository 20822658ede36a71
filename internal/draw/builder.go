package draw

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// builder lays out a view of a system. The layout ignores overrides, so that absent links
// also have a position.
type builder struct {
	*topology.Graph // without overrides
	at              Place
	overridden      map[pair]*overrideEffect
}

// Topology lays out a view of a compiled system. The place `at` selects the SIP, the cube
// and the PE to show, as far as the view needs them. Topology returns an error if one of
// them, or the view, does not exist.
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
	p, err := newBuilder(g, at)
	if err != nil {
		return nil, err
	}
	layout, ok := map[View]func(*builder) *Diagram{ViewSystem: (*builder).layoutSystem, ViewSIP: (*builder).layoutSIP, ViewCube: (*builder).layoutCube, ViewPE: (*builder).layoutPE}[view]
	if !ok {
		return nil, fmt.Errorf("no view %q: draw one of %v", view, Views)
	}
	d := layout(p)
	d.source, d.hash = s.Source(), s.Hash()
	d.placeTexts(sizeText, sizeDetail)
	p.explainOverrides(d, s.Overrides)
	return d, nil
}

// newBuilder returns a builder for a compiled system. If the system has overrides, it
// compiles the system again without them and records the effect of each override.
func newBuilder(g *topology.Graph, at Place) (*builder, error) {
	p := &builder{Graph: g, at: at, overridden: map[pair]*overrideEffect{}}
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
		q, dirs := p.overriddenPair(o)
		v := p.overridden[q]
		if v == nil {
			v = &overrideEffect{state: changed}
			p.overridden[q] = v
		}
		v.addText(o, dirs)
		_, there := g.LinkBetween(q.a, q.b)
		_, back := g.LinkBetween(q.b, q.a)
		switch {
		case there != back:
			v.state, v.fromLower = oneDirection, there
		case !there:
			v.state = absent
		}
	}
	return p, nil
}

// endpoints is two components, in the order of the blocks that a wire connects.
type endpoints struct{ from, to topology.NodeID }

// join adds wire w to a diagram. The wire stands for the links between the given pairs of
// components. If overrides change these links, join sets the state of the wire and replaces
// the text of the wire by the effect of the overrides. If overrides remove one direction of
// all links, the wire points in the other direction.
func (p *builder) join(d *Diagram, w wire, links ...endpoints) {
	var names, texts []string
	states, remaining := map[state]int{}, map[bool]int{} // remaining: key true is the direction of the wire
	for _, l := range links {
		q := newPair(l.from, l.to)
		names, w.pairs = append(names, p.Name(q.a)+" — "+p.Name(q.b)), append(w.pairs, q)
		v := p.overridden[q]
		if v == nil {
			states[unchanged]++
			continue
		}
		states[v.state]++
		texts = append(texts, v.text(func(fromLower bool) string { return w.arrow(fromLower == (q.a == l.from)) }))
		if v.state == oneDirection {
			remaining[v.fromLower == (q.a == l.from)]++
		}
	}
	w.name = strings.Join(names, "\n")
	switch all := len(links); {
	case states[unchanged] == all:
	case states[absent] == all:
		w.state = absent
	case remaining[true] == all || remaining[false] == all:
		w.state, w.oneWay = oneDirection, true
		if remaining[false] > 0 {
			w.from, w.to = w.to, w.from
			slices.Reverse(w.path)
		}
	default:
		w.state = changed
	}
	if w.state != unchanged {
		w.text = texts[0]
		if len(slices.Compact(slices.Clone(texts))) > 1 {
			w.text = "changed"
		}
		if len(texts) < len(links) {
			w.text += fmt.Sprintf(" (%d of %d)", len(texts), len(links))
		}
		w.name += "\n" + w.text
	}
	d.wires = append(d.wires, &w)
}

// arrow returns a space and an arrow character such as → that points in the direction of
// the wire, or in the opposite direction if `along` is false. It returns "" if the wire is
// not drawn.
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

// joinNamed adds wire w to a diagram. The wire connects two blocks, which have the names of
// two components. The wire stands for the links between these components.
func (p *builder) joinNamed(d *Diagram, w wire) {
	a, _ := p.Lookup(d.blocks[w.from].name)
	b, _ := p.Lookup(d.blocks[w.to].name)
	p.join(d, w, endpoints{a, b})
}

// bandwidthText formats a bandwidth for the legend.
func bandwidthText(bw topology.BytesPerSec) string {
	if bw == topology.Unlimited {
		return "unlimited bandwidth"
	}
	return topology.Format(bw) + " each way"
}

// bandwidthLabel formats a bandwidth as the label of a wire. It returns "" if the bandwidth
// is unlimited.
func bandwidthLabel(bw topology.BytesPerSec) string {
	if bw == topology.Unlimited {
		return ""
	}
	return topology.Format(bw)
}

// latencyText formats the latency of links. `latency` is nil if the length of a link
// determines its latency; the text then is the delay of wires per mm.
func (p *builder) latencyText(latency *topology.Time) string {
	if latency != nil {
		return topology.Format(*latency)
	}
	return "wire " + topology.Format(p.Spec().System.WireDelay)
}
