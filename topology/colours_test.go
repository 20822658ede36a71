package topology

import (
	"fmt"
	"slices"
	"testing"
)

// TestSIPColours checks on which fabrics SIPs have two colours, and that no link leads from a SIP
// to another of its colour.
func TestSIPColours(t *testing.T) {
	for _, c := range []struct {
		fabric string
		w, h   int
		two    bool
	}{
		{"ring_1d", 2, 1, true}, {"ring_1d", 6, 1, true}, {"ring_1d", 5, 1, false}, {"line", 5, 1, true},
		{"mesh_2d_no_wrap", 3, 3, true}, {"torus_2d", 4, 2, true}, {"torus_2d", 3, 4, false},
		{"fully_connected", 2, 1, true}, {"fully_connected", 3, 1, false}, {"switch", 2, 1, false},
	} {
		sets := []string{fmt.Sprintf("system.sips.count=%d", c.w*c.h), "system.sips.topology=" + c.fabric}
		if c.h > 1 {
			sets = append(sets, fmt.Sprintf("system.sips.w=%d", c.w), fmt.Sprintf("system.sips.h=%d", c.h))
		}
		spec, err := Load(t.Context(), "alpha_beta", sets...)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		colours := g.SIPColours()
		if (colours != nil) != c.two {
			t.Errorf("%v: colours %d, want two colours: %v", sets, colours, c.two)
			continue
		}
		if c.two && (len(colours) != c.w*c.h+1 || !slices.Contains(colours[1:], 0) || !slices.Contains(colours[1:], 1)) {
			t.Errorf("%v: colours %d", sets, colours)
		}
		for id := range g.Links() {
			from, to := g.SIPsOf(LinkID(id))
			if c.two && from >= 0 && to >= 0 && from != to && colours[from+1] == colours[to+1] {
				t.Errorf("%v: a link from SIP %d to SIP %d, both of colour %d", sets, from, to, colours[to+1])
			}
		}
	}
}
