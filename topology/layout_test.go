package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPESites checks which router each PE of a cube is connected to.
func TestPESites(t *testing.T) {
	for _, c := range []struct {
		name   string
		layout PELayout
		noc    grid
		want   []int
	}{
		{"quadrants", PELayout{4, 2}, grid{w: 4, h: 4}, []int{0, 1, 3, 2, 12, 13, 15, 14}},
		{"second row of a quadrant", PELayout{4, 3}, grid{w: 4, h: 4}, []int{0, 1, 4, 3, 2, 7, 12, 13, 8, 15, 14, 11}},
		{"round and round", PELayout{4, 3}, grid{w: 2, h: 2}, []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}},
		{"odd sides favour the first half", PELayout{4, 3}, grid{w: 3, h: 3}, []int{0, 1, 3, 2, 5, 2, 6, 7, 6, 8, 8, 8}},
		{"whole mesh", PELayout{1, 5}, grid{w: 2, h: 2}, []int{0, 1, 2, 3, 0}},
		{"left and right", PELayout{2, 3}, grid{w: 3, h: 2}, []int{0, 1, 3, 2, 5, 2}},
		{"left and right, from the outer corners", PELayout{2, 3}, grid{w: 4, h: 2}, []int{0, 1, 4, 3, 2, 7}},
	} {
		if diff := cmp.Diff(c.want, peSites(c.layout, c.noc)); diff != "" {
			t.Errorf("%s: routers of the PEs (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		w, h int
		want []int // per PE
	}{
		{4, 4, []int{0, 0, 1, 1, 0, 0, 1, 1}},
		{3, 2, []int{0, 0, 1, 1, 0, 0, 1, 1}},
	} {
		s := testSpec()
		s.Cube.NoC.W, s.Cube.NoC.H = c.w, c.h
		s.Cube.CPU.At, s.Cube.SRAM.At = Site{0, 0}, Site{0, 0}
		g := mustCompile(t, s)
		for pe, want := range c.want {
			if got := g.Half(pe); got != want {
				t.Errorf("NoC %d×%d: PE %d is in half %d, want %d", c.w, c.h, pe, got, want)
			}
		}
	}
}

// TestPositions checks the positions of components in the plane of a SIP.
func TestPositions(t *testing.T) {
	g := mustCompile(t, testSpec())
	for name, want := range map[string]Point{
		"sip0.io.switch":           {17_500, 1_000},
		"sip0.io.pcie":             {17_500, 500},
		"sip0.io.cpu":              {17_000, 1_000},
		"sip0.io.ucie3":            {30_000, 2_000},
		"sip0.cube3.ucie_n":        {30_000, 3_000},
		"sip0.cube0.r0c0":          {1_000, 4_000},
		"sip0.cube5.r0c0":          {10_000, 13_000},
		"sip0.cube5.r2c3":          {16_000, 17_000},
		"sip0.cube5.pe7.dma":       {14_000, 18_500},
		"sip0.cube5.pe7.cpu":       {13_875, 18_500},
		"sip0.cube5.hbm7":          {14_000, 19_500},
		"sip0.cube5.cpu":           {14_500, 13_000},
		"sip0.cube5.sram":          {9_500, 19_000},
		"sip0.cube5.ucie_e":        {17_000, 15_000},
		"sip0.cube6.ucie_w":        {18_000, 15_000},
		"sip1.cube5.pe0.scheduler": {9_875, 12_375},
	} {
		id, ok := g.Lookup(name)
		if !ok {
			t.Errorf("no component %s", name)
			continue
		}
		if got := g.Node(id).Pos; got != want {
			t.Errorf("%s is at %v, want %v", name, got, want)
		}
	}
}
