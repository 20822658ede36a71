package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// absence is a link that an override takes away.
type absence struct {
	from, to NodeID
	ordinal  int // among parallel links
}

// override applies the overrides of the spec in order, so that of two about
// one link the later has the last word. All names are those of the system
// before any link is taken away.
func (g *Graph) override() config.Errors {
	var errs config.Errors
	gone := map[LinkID]bool{}
	cut := map[level]int{} // last override that takes a link from a level
	for i, o := range g.spec.Overrides {
		at := fmt.Sprintf("overrides[%d].link", i)
		ids, ok := g.LookupLink(o.Link)
		if !ok {
			errs = append(errs, g.spec.errorAt(at, "no link %q: %s", o.Link, g.whyNoLink(o.Link)))
			continue
		}
		for _, id := range ids {
			l := &g.links[id]
			if o.Bandwidth != nil {
				l.Bandwidth = *o.Bandwidth
			}
			if o.Latency != nil {
				l.Latency = *o.Latency
			}
			if !o.Absent {
				continue
			}
			lev, ok := levelOf(g.Node(l.From), g.Node(l.To))
			if !ok {
				errs = append(errs, g.spec.errorAt(at, "%s is the only way from %s to %s: it cannot be absent", g.LinkName(id), g.Name(l.From), g.Name(l.To)))
				continue
			}
			gone[id] = true
			cut[lev] = i
		}
	}
	g.remove(gone)
	for _, lev := range slices.SortedFunc(maps.Keys(cut), compareLevels) {
		if from, to, found := g.severed(lev); found {
			errs = append(errs, g.spec.errorAt(fmt.Sprintf("overrides[%d].link", cut[lev]),
				"the absent links leave no way from %s to %s in %s: keep one", g.Name(from), g.Name(to), lev))
		}
	}
	return errs
}

func compareLevels(a, b level) int {
	return cmp.Or(cmp.Compare(a.sip, b.sip), cmp.Compare(a.cube, b.cube))
}

// remove takes links away and numbers the others anew.
func (g *Graph) remove(gone map[LinkID]bool) {
	if len(gone) == 0 {
		return
	}
	var absent []absence
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		l := g.links[id]
		k, _ := g.ordinal(id)
		absent = append(absent, absence{l.From, l.To, k})
	}
	g.absent = absent
	kept, old := g.links[:0], LinkID(0)
	for n := range g.first {
		end := g.first[n]
		for ; old < end; old++ {
			if !gone[old] {
				kept = append(kept, g.links[old])
			}
		}
		g.first[n] = LinkID(len(kept))
	}
	g.links = kept
}

// whyNoLink tells what is wrong with the name of a link.
func (g *Graph) whyNoLink(name string) string {
	from, to, _, _, ok := cutLinkName(name)
	if !ok {
		return nameRule
	}
	for _, end := range []string{from, to} {
		if _, ok := g.Lookup(end); !ok {
			near := g.nearest(end)
			if near == "" {
				return fmt.Sprintf("there is no component %q; %s", end, nameRule)
			}
			return fmt.Sprintf("there is no component %q; did you mean %s?", end, near)
		}
	}
	id, _ := g.Lookup(from)
	var near []string
	for link := g.first[id]; link < g.first[id+1] && len(near) < 12; link++ {
		near = append(near, g.LinkName(link))
	}
	return "from there lead " + strings.Join(near, ", ")
}
