package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// nameRule explains the names of links in errors.
const nameRule = "write from->to, or a<->b for both ways, such as sip0.io.switch<->sip1.io.switch or sip0.cube5.r2c1->sip0.cube5.r2c2"

// ownNames is the last part of the name of a component that is the only one of its kind in
// its SIP, cube or PE, or in the system.
var ownNames = [...]string{
	KindHost: "host", KindSwitch: "switch",
	KindPCIe: "pcie", KindIOCPU: "cpu", KindIOSwitch: "switch",
	KindCubeCPU: "cpu", KindSRAM: "sram",
	KindPECPU: "cpu", KindScheduler: "scheduler", KindDMA: "dma", KindFetchStore: "fetch_store",
	KindGEMM: "gemm", KindMath: "math", KindTCM: "tcm", KindIPCQ: "ipcq",
}

// portNames is the last part of the name of a cube's UCIe port.
var portNames = [numDirections]string{North: "ucie_n", East: "ucie_e", South: "ucie_s", West: "ucie_w"}

// Name returns the stable name of a component, such as "sip0.cube5.pe3.dma".
func (g *Graph) Name(id NodeID) string {
	n := g.Node(id)
	if n.SIP < 0 {
		return ownNames[n.Kind]
	}
	if n.Cube < 0 {
		if n.Kind == KindUCIe {
			return fmt.Sprintf("sip%d.io.ucie%d", n.SIP, n.Index)
		}
		return fmt.Sprintf("sip%d.io.%s", n.SIP, ownNames[n.Kind])
	}
	cube := fmt.Sprintf("sip%d.cube%d", n.SIP, n.Cube)
	switch {
	case n.Kind == KindRouter:
		col, row := g.noc.position(int(n.Index))
		return fmt.Sprintf("%s.r%dc%d", cube, row, col)
	case n.Kind == KindUCIe:
		return cube + "." + portNames[n.Index]
	case n.Kind == KindHBM:
		return fmt.Sprintf("%s.hbm%d", cube, n.Index)
	case n.Kind >= KindPECPU:
		return fmt.Sprintf("%s.pe%d.%s", cube, n.Index, ownNames[n.Kind])
	}
	return cube + "." + ownNames[n.Kind]
}

// Lookup returns the component with the given name, and reports whether there is one.
func (g *Graph) Lookup(name string) (NodeID, bool) {
	first, end := g.candidates(name)
	for id := first; id < end; id++ {
		if g.Name(id) == name {
			return id, true
		}
	}
	return 0, false
}

// candidates returns a range of components that includes the component with the given name,
// if that component exists. The range consists of all components of one cube, all
// components of one IO chiplet, or all components outside of SIPs.
func (g *Graph) candidates(name string) (first, end NodeID) {
	parts := strings.SplitN(name, ".", 3)
	sip, ok := parseNumber(parts[0], "sip", g.spec.System.SIPs.Count)
	if !ok || len(parts) < 3 {
		return 0, NodeID(len(g.outer))
	}
	cube, ok := parseNumber(parts[1], "cube", len(g.cubes))
	if !ok {
		return g.inSIP(sip, 0), g.inSIP(sip, g.cubes[0].first)
	}
	last := len(g.sip)
	if cube+1 < len(g.cubes) {
		last = g.cubes[cube+1].first
	}
	return g.inSIP(sip, g.cubes[cube].first), g.inSIP(sip, last)
}

// nearestName returns the name of a component that is most similar to `name`, or "" if no
// component has a similar name. `name` itself must not be the name of a component.
// nearestName searches the components outside any SIP and those of one SIP: the SIP with
// which `name` begins, or SIP 0 if `name` does not begin with a valid SIP.
func (g *Graph) nearestName(name string) string {
	const enough = 1 << 13 // components, so that the search in a huge SIP is fast
	part, _, _ := strings.Cut(name, ".")
	sip, ok := parseNumber(part, "sip", g.spec.System.SIPs.Count)
	if !ok {
		sip = 0
	}
	var known []string
	for id := range g.outer {
		known = append(known, g.Name(NodeID(id)))
	}
	for i := range min(len(g.sip), enough) {
		known = append(known, g.Name(g.inSIP(sip, i)))
	}
	return config.Nearest(name, known)
}

// parseNumber parses a text that consists of the given prefix and a number less than
// `limit`, such as "cube12". It returns the number and reports whether the text has this
// form.
func parseNumber(text, prefix string, limit int) (int, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= limit {
		return 0, false
	}
	return n, true
}

// LinkName returns the stable name of a link: "from->to", or "from->to#0", "from->to#1" for
// parallel links. The numbers count absent links, too, so that the other links keep their
// names.
func (g *Graph) LinkName(id LinkID) string {
	l := g.links[id]
	name := g.Name(l.From) + "->" + g.Name(l.To)
	if k, n := g.ordinal(id); n > 1 {
		name += "#" + strconv.Itoa(k)
	}
	return name
}

// ordinal returns the index k of a link among the parallel links between the same two
// nodes, and the number n of these links. Both count absent links.
func (g *Graph) ordinal(id LinkID) (k, n int) {
	l := g.links[id]
	first, n := g.between(l.From, l.To)
	k = int(id - first)
	for _, a := range g.absent { // in ascending order of ordinal
		if a.from != l.From || a.to != l.To {
			continue
		}
		n++
		if a.ordinal <= k {
			k++
		}
	}
	return k, n
}

// LookupLink returns the links with the given name, and reports whether there are any.
// "a->b" names all parallel links from a to b, "a->b#0" only the first and "a->b#1" only
// the second. "a<->b" and "a<->b#1" name the links of both directions.
func (g *Graph) LookupLink(name string) ([]LinkID, bool) {
	fromName, toName, both, ordinal, ok := cutLinkName(name)
	if !ok {
		return nil, false
	}
	from, okFrom := g.Lookup(fromName)
	to, okTo := g.Lookup(toName)
	if !okFrom || !okTo {
		return nil, false
	}
	ids := g.appendLinks(nil, from, to, ordinal)
	if both {
		ids = g.appendLinks(ids, to, from, ordinal)
	}
	return ids, len(ids) > 0
}

// appendLinks appends to ids the links from one node to another: only the link with the
// given ordinal, or all links if ordinal is negative.
func (g *Graph) appendLinks(ids []LinkID, from, to NodeID, ordinal int) []LinkID {
	first, n := g.between(from, to)
	for id := first; id < first+LinkID(n); id++ {
		if k, _ := g.ordinal(id); ordinal < 0 || k == ordinal {
			ids = append(ids, id)
		}
	}
	return ids
}

// cutLinkName splits the name of a link into the names of its two nodes and its ordinal.
// `both` is true for "a<->b". `ordinal` is -1 if the name has no ordinal. `ok` is false if
// `name` is not the name of a link. Spaces around the arrow are ignored.
func cutLinkName(name string) (from, to string, both bool, ordinal int, ok bool) {
	from, to, both = strings.Cut(name, "<->")
	if !both {
		if from, to, ok = strings.Cut(name, "->"); !ok {
			return
		}
	}
	to, suffix, numberedLink := strings.Cut(strings.TrimSpace(to), "#")
	from = strings.TrimSpace(from)
	if !numberedLink {
		return from, to, both, -1, true
	}
	ordinal, err := strconv.Atoi(suffix)
	ok = err == nil && strconv.Itoa(ordinal) == suffix && ordinal >= 0
	return from, to, both, ordinal, ok
}
