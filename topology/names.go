package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// nameRule tells a user what links are called.
const nameRule = "write from->to, or a<->b for both ways, such as sip0.io.switch<->sip1.io.switch or sip0.cube5.r2c1->sip0.cube5.r2c2"

// ownNames is the last part of the name of a component that is the only one
// of its kind where it lives.
var ownNames = [...]string{
	KindHost: "host", KindSwitch: "switch",
	KindPCIe: "pcie", KindIOCPU: "cpu", KindIOSwitch: "switch",
	KindCubeCPU: "cpu", KindSRAM: "sram",
	KindPECPU: "cpu", KindScheduler: "scheduler", KindDMA: "dma", KindFetchStore: "fetch_store",
	KindGEMM: "gemm", KindMath: "math", KindTCM: "tcm", KindIPCQ: "ipcq",
}

// portNames is the last part of the name of a cube's UCIe port.
var portNames = [numDirections]string{North: "ucie_n", East: "ucie_e", South: "ucie_s", West: "ucie_w"}

// Name is the stable name of a component, such as "sip0.cube5.pe3.dma".
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
		col, row := g.noc.at(int(n.Index))
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

// Lookup returns the component of a name.
func (g *Graph) Lookup(name string) (NodeID, bool) {
	first, end := g.around(name)
	for id := first; id < end; id++ {
		if g.Name(id) == name {
			return id, true
		}
	}
	return 0, false
}

// around returns the components among which one of a name has to be: those of a cube, of
// an IO chiplet, or outside any SIP.
func (g *Graph) around(name string) (first, end NodeID) {
	parts := strings.SplitN(name, ".", 3)
	sip, ok := numbered(parts[0], "sip", g.spec.System.SIPs.Count)
	if !ok || len(parts) < 3 {
		return 0, NodeID(len(g.outer))
	}
	cube, ok := numbered(parts[1], "cube", len(g.cubes))
	if !ok {
		return g.inSIP(sip, 0), g.inSIP(sip, g.cubes[0].first)
	}
	last := len(g.sip)
	if cube+1 < len(g.cubes) {
		last = g.cubes[cube+1].first
	}
	return g.inSIP(sip, g.cubes[cube].first), g.inSIP(sip, last)
}

// nearest is the component whose name is most like one that does not exist, or
// "". It looks in the SIP that is named, else in the first, which has them all.
func (g *Graph) nearest(name string) string {
	const enough = 1 << 13 // components, so that a mistake in a huge SIP is told at once
	part, _, _ := strings.Cut(name, ".")
	sip, ok := numbered(part, "sip", g.spec.System.SIPs.Count)
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

// numbered is the number below limit that follows a prefix.
func numbered(text, prefix string, limit int) (int, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= limit {
		return 0, false
	}
	return n, true
}

// LinkName is the stable name of a link: "from->to", and "from->to#0",
// "from->to#1" where there are parallel ones. Absent links keep their number.
func (g *Graph) LinkName(id LinkID) string {
	l := g.links[id]
	name := g.Name(l.From) + "->" + g.Name(l.To)
	if k, n := g.ordinal(id); n > 1 {
		name += "#" + strconv.Itoa(k)
	}
	return name
}

// ordinal is the place of a link among its n parallel ones, absent included.
func (g *Graph) ordinal(id LinkID) (k, n int) {
	l := g.links[id]
	first, n := g.between(l.From, l.To)
	k = int(id - first)
	for _, a := range g.absent { // in rising order of ordinal
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

// LookupLink is the links of a name: "a->b" is all parallel links from a to b,
// "a->b#1" the second of them (and "a->b#0" the first alone), "a<->b" and
// "a<->b#1" those of both directions.
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
	ids := g.parallel(nil, from, to, ordinal)
	if both {
		ids = g.parallel(ids, to, from, ordinal)
	}
	return ids, len(ids) > 0
}

// parallel appends the links from a node to another: the one of an ordinal, or
// all when it is negative.
func (g *Graph) parallel(ids []LinkID, from, to NodeID, ordinal int) []LinkID {
	first, n := g.between(from, to)
	for id := first; id < first+LinkID(n); id++ {
		if k, _ := g.ordinal(id); ordinal < 0 || k == ordinal {
			ids = append(ids, id)
		}
	}
	return ids
}

// cutLinkName takes the name of a link apart; ordinal is -1 when it has none.
// Spaces around the arrow are not part of any name.
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
