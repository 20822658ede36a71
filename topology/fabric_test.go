package topology

import (
	"fmt"
	"strings"
	"testing"
)

// adjacency formats the SIP links of a graph, one line per SIP.
func adjacency(g *Graph) string {
	var b strings.Builder
	for sip := range g.Spec().System.SIPs.Count {
		fmt.Fprintf(&b, "%d:", sip)
		for _, l := range g.Links() {
			if to := g.Node(l.To); l.From == g.IOSwitch(sip) && to.connectsSIPs() {
				fmt.Fprintf(&b, " %d", to.SIP) // -1 is the central switch
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestFabricLinks checks which SIPs each fabric connects.
func TestFabricLinks(t *testing.T) {
	for _, c := range []struct {
		shape       Shape
		count, w, h int
		want        string
	}{
		{Ring1D, 1, 0, 0, "0:\n"},
		{Ring1D, 2, 0, 0, "0: 1\n1: 0\n"},
		{Ring1D, 3, 0, 0, "0: 1 2\n1: 0 2\n2: 0 1\n"},
		{Ring1D, 4, 0, 0, "0: 1 3\n1: 0 2\n2: 1 3\n3: 0 2\n"},
		{Line, 3, 0, 0, "0: 1\n1: 0 2\n2: 1\n"},
		{Torus2D, 6, 2, 3, "0: 1 2 4\n1: 0 3 5\n2: 0 3 4\n3: 1 2 5\n4: 0 2 5\n5: 1 3 4\n"},
		{Torus2D, 6, 3, 2, "0: 1 2 3\n1: 0 2 4\n2: 0 1 5\n3: 0 4 5\n4: 1 3 5\n5: 2 3 4\n"},
		{Torus2D, 4, 0, 0, "0: 1 2\n1: 0 3\n2: 0 3\n3: 1 2\n"},
		{Torus2D, 3, 1, 3, "0: 1 2\n1: 0 2\n2: 0 1\n"},
		{Mesh2DNoWrap, 6, 2, 3, "0: 1 2\n1: 0 3\n2: 0 3 4\n3: 1 2 5\n4: 2 5\n5: 3 4\n"},
		{Mesh2DNoWrap, 6, 3, 2, "0: 1 3\n1: 0 2 4\n2: 1 5\n3: 0 4\n4: 1 3 5\n5: 2 4\n"},
		{FullyConnected, 4, 0, 0, "0: 1 2 3\n1: 0 2 3\n2: 0 1 3\n3: 0 1 2\n"},
		{Switch, 3, 0, 0, "0: -1\n1: -1\n2: -1\n"},
	} {
		g := mustCompile(t, fabricSpec(c.shape, c.count, c.w, c.h))
		if got := adjacency(g); got != c.want {
			t.Errorf("%s of %d, %d×%d:\n%swant\n%s", c.shape, c.count, c.w, c.h, got, c.want)
		}
	}
}

func TestSIPNeighbors(t *testing.T) {
	for _, c := range []struct {
		shape            Shape
		count, w, h, sip int
		want             []int
	}{
		{Ring1D, 1, 0, 0, 0, nil},
		{Ring1D, 2, 0, 0, 0, []int{1}},
		{Ring1D, 5, 0, 0, 0, []int{1, 4}},
		{Line, 5, 0, 0, 2, []int{3, 1}},
		{Torus2D, 9, 0, 0, 0, []int{6, 1, 3, 2}},
		{Torus2D, 6, 2, 3, 0, []int{4, 1, 2}},
		{Mesh2DNoWrap, 9, 3, 3, 4, []int{1, 5, 7, 3}},
		{FullyConnected, 4, 0, 0, 2, []int{0, 1, 3}},
		{Switch, 3, 0, 0, 1, []int{0, 2}},
	} {
		g := mustCompile(t, fabricSpec(c.shape, c.count, c.w, c.h))
		if got := g.SIPNeighbors(c.sip); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s of %d: neighbours of SIP %d are %v, want %v", c.shape, c.count, c.sip, got, c.want)
		}
	}
}

func TestSIPGrid(t *testing.T) {
	for _, c := range []struct {
		shape                               Shape
		count, w, h                         int
		wantW, wantH, sip, wantCol, wantRow int
	}{
		{Torus2D, 6, 2, 3, 2, 3, 5, 1, 2},
		{Torus2D, 6, 3, 2, 3, 2, 5, 2, 1},
		{Mesh2DNoWrap, 16, 0, 0, 4, 4, 6, 2, 1},
		{Ring1D, 6, 0, 0, 6, 1, 5, 5, 0},
	} {
		g := mustCompile(t, fabricSpec(c.shape, c.count, c.w, c.h))
		if w, h := g.SIPGrid(); w != c.wantW || h != c.wantH {
			t.Errorf("%s of %d: grid %d×%d, want %d×%d", c.shape, c.count, w, h, c.wantW, c.wantH)
		}
		if col, row := g.SIPAt(c.sip); col != c.wantCol || row != c.wantRow {
			t.Errorf("%s of %d: SIP %d is at column %d, row %d, want %d, %d", c.shape, c.count, c.sip, col, row, c.wantCol, c.wantRow)
		}
	}
}

// TestGridMustFit checks that Compile refuses a number of SIPs that does not fill the grid.
func TestGridMustFit(t *testing.T) {
	for _, c := range []struct{ count, w, h int }{{6, 0, 0}, {6, 4, 2}} {
		if _, err := Compile(fabricSpec(Torus2D, c.count, c.w, c.h)); err == nil {
			t.Errorf("%d SIPs in a %d×%d torus compiled, want an error", c.count, c.w, c.h)
		}
	}
}
