package draw

import (
	"bytes"
	"strings"
	"testing"
)

// gridPanel is nodes in columns and rows, joined to their right and lower neighbours.
func gridPanel(w, h int) Panel {
	p := Panel{Title: "a grid", Cells: [2]int{4, 4}}
	for i := range w * h {
		p.Nodes = append(p.Nodes, Node{Name: "n" + string(rune('0'+i)), X: float64(i % w), Y: float64(i / w)})
		if i%w < w-1 {
			p.Links = append(p.Links, [2]int{i, i + 1})
		}
		if i/w < h-1 {
			p.Links = append(p.Links, [2]int{i, i + w})
		}
	}
	return p
}

// TestNetwork: every link is a line, one past another node a curve beside that, and the
// same panels are the same bytes.
func TestNetwork(t *testing.T) {
	torus := gridPanel(2, 3)
	torus.Links = append(torus.Links, [2]int{0, 4}, [2]int{1, 5})
	f := Network{Title: "Systems", Note: "of six", Panels: []Panel{gridPanel(2, 3), torus}}
	svg, err := SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	text := string(svg)
	for part, want := range map[string]int{">a grid<": 2, ">n5<": 2, ">of six<": 1} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%s: %d times, want %d", part, got, want)
		}
	}
	lines, curves := 0, 0
	for _, d := range strings.Split(text, `<path d="`)[1:] {
		d, rest, _ := strings.Cut(d, `"`)
		stroke, _, _ := strings.Cut(rest, ">")
		switch {
		case !strings.Contains(stroke, "#0072b2"):
		case strings.ContainsAny(d, "QC"):
			curves++
		default:
			lines++
		}
	}
	if lines != 14 || curves != 2 {
		t.Errorf("%d lines and %d curves, want 14 and 2", lines, curves)
	}
	again, err := SVG(f)
	if err != nil || !bytes.Equal(svg, again) {
		t.Errorf("drawn again: %d bytes, error %v, want the %d of before", len(again), err, len(svg))
	}
	if _, err := PNG(f); err != nil {
		t.Error(err)
	}
}

// TestNetworkAround: a link past another node bends away from the middle.
func TestNetworkAround(t *testing.T) {
	p := gridPanel(2, 3)
	for _, test := range []struct {
		a, b       int
		obstructed bool
		x, y       float64
	}{
		{0, 1, false, 0, 0}, {0, 2, false, 0, 0}, {0, 3, false, 0, 0},
		{0, 4, true, -1.06, 1}, {5, 1, true, 2.06, 1},
	} {
		a, b := p.Nodes[test.a], p.Nodes[test.b]
		if got := p.obstructed(a, b); got != test.obstructed {
			t.Errorf("from %s to %s: obstructed %v, want %v", a.Name, b.Name, got, test.obstructed)
		}
		if got := p.around(a, b); test.obstructed && (threeDigits(got.X) != test.x || threeDigits(got.Y) != test.y) {
			t.Errorf("from %s to %s: around %v, %v, want %v, %v", a.Name, b.Name, got.X, got.Y, test.x, test.y)
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	loop, far := gridPanel(1, 2), gridPanel(1, 2)
	loop.Links, far.Links = [][2]int{{1, 1}}, [][2]int{{0, 2}}
	for want, panels := range map[string][]Panel{
		`figure "Systems": no panels: give at least one`:                              {},
		`figure "Systems": panel "empty" has no nodes: give at least one`:             {{Title: "empty"}},
		`figure "Systems": panel "a grid": a link from node 1 to 1: there are 0 to 1`: {loop},
		`figure "Systems": panel "a grid": a link from node 0 to 2: there are 0 to 1`: {far},
	} {
		if _, err := SVG(Network{Title: "Systems", Panels: panels}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
