package draw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/topology"
)

// TestSystems checks that each system is drawn as in its own view: a block for each SIP, a
// wire for each link with its bandwidth if there is space, and the value of an override at
// its link.
func TestSystems(t *testing.T) {
	mesh := compile(t, "mesh2x3", "overrides=[{link: sip0.io.switch<->sip1.io.switch, bandwidth: 50 GB/s}]")
	f := Systems{Title: "Three", Note: "of six", Panels: []SystemPanel{
		{"a ring", compile(t, "ring6")}, {"a torus", compile(t, "torus2x3")}, {"a mesh", mesh},
	}}
	c := layOut(t, f)
	checkOnPage(t, c)
	checkNoOverlap(t, c)
	blocks, wires, labels := map[string]int{}, map[string]int{}, map[string]int{}
	walk(c.items, "", func(it item, tip string) {
		first, _, _ := strings.Cut(tip, "\n")
		switch it := it.(type) {
		case shape:
			switch it.line {
			case roles[compute].line:
				blocks[first]++
			case roles[fabric].line, overrideColour:
				wires[it.line.String()]++
			}
		case textLine:
			if strings.HasSuffix(it.text, "GB/s") {
				labels[it.text]++
			}
		}
	})
	want := map[string]int{}
	for i := range 6 {
		want[fmt.Sprintf("sip%d", i)] = 3
	}
	if diff := cmp.Diff(want, blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	// The ring has 6 links, the mesh 7, and the torus 9 because it also connects the ends
	// of a column of three.
	if diff := cmp.Diff(map[string]int{roles[fabric].line.String(): 6 + 9 + 6, overrideColour.String(): 1}, wires); diff != "" {
		t.Errorf("wires (-want +got):\n%s", diff)
	}
	if labels["50 GB/s"] != 1 || labels["100 GB/s"] < 3 {
		t.Errorf("labels: got %v, want one of 50 GB/s and at least three of 100 GB/s", labels)
	}
	var got []string
	for _, text := range placedTexts(c) {
		got = append(got, text[:strings.LastIndex(text, ":")])
	}
	for _, want := range []string{"Three", "of six", "a ring", "a torus", "a mesh"} {
		if !slices.Contains(got, want) {
			t.Errorf("no text %q", want)
		}
	}
}

// TestSystemsErrors checks the errors for a figure without panels and for a system that is
// too large for its panel.
func TestSystemsErrors(t *testing.T) {
	for want, panels := range map[string][]SystemPanel{
		`figure "x": no panels: give at least one`: nil,
		`figure "x": panel "big": there is no room for 1024 SIPs: draw fewer`: {
			{"small", compile(t, "ring6")}, {"big", compile(t, "alpha_beta", systemSettings(topology.Torus2D, 1024)...)}, {"a", compile(t, "ring6")},
		},
	} {
		if _, err := SVG(Systems{Title: "x", Panels: panels}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
