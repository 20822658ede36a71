package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/topology"
)

// compile returns the compiled preset with the given name. `sets` holds settings KEY=VALUE
// that change the preset.
func compile(t testing.TB, name string, sets ...string) *topology.Graph {
	t.Helper()
	var spec *topology.Spec
	src, err := topology.PresetSource(name)
	if err == nil {
		spec, err = topology.Parse("preset "+name, src, sets...)
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// drawView lays out a view of a system. An error ends the test.
func drawView(t testing.TB, g *topology.Graph, v View, at Place) *Diagram {
	t.Helper()
	d, err := Topology(g, v, at)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// systemSettings returns the settings for a network of n SIPs with the given shape,
// followed by the settings in `more`.
func systemSettings(shape topology.Shape, n int, more ...string) []string {
	return append([]string{"system.sips.topology=" + string(shape), fmt.Sprintf("system.sips.count=%d", n)}, more...)
}

// systems lists the systems whose views are tested: a preset and settings that change it.
var systems = []struct {
	name string
	base string
	sets []string
}{
	{"default", "default", nil},
	{"torus2x3", "torus2x3", nil},
	{"mesh2x3", "mesh2x3", nil},
	{"ring6", "ring6", nil},
	{"alpha_beta", "alpha_beta", nil},
	{"torus 1024", "alpha_beta", systemSettings(topology.Torus2D, 1024)},
	{"torus 3x2", "default", systemSettings(topology.Torus2D, 6, "system.sips.w=3", "system.sips.h=2")},
	{"torus 1x5", "default", systemSettings(topology.Torus2D, 5, "system.sips.w=1", "system.sips.h=5")},
	{"torus 4x4", "default", systemSettings(topology.Torus2D, 16)},
	{"torus 4x2", "default", systemSettings(topology.Torus2D, 8, "system.sips.w=4", "system.sips.h=2", "system.sips.link.links=4")},
	{"one SIP", "default", systemSettings(topology.Ring1D, 1)},
	{"ring 3", "default", systemSettings(topology.Ring1D, 3)},
	{"ring 53", "default", systemSettings(topology.Ring1D, 53)},
	{"line 4", "default", systemSettings(topology.Line, 4)},
	{"line 30", "default", systemSettings(topology.Line, 30)},
	{"fully connected 5", "default", systemSettings(topology.FullyConnected, 5)},
	{"fully connected 8", "default", systemSettings(topology.FullyConnected, 8)},
	{"fully connected 64", "alpha_beta", systemSettings(topology.FullyConnected, 64)},
	{"fully connected 80", "alpha_beta", systemSettings(topology.FullyConnected, 80)},
	{"switch 8", "default", systemSettings(topology.Switch, 8)},
	{"switch 100", "alpha_beta", systemSettings(topology.Switch, 100)},
	{"many PEs on few routers", "default", []string{"cube.pe_layout.pe_per_corner=32"}},
	{"long and thin", "default", []string{"sip.cube_mesh.w=9", "sip.cube_mesh.h=1", "cube.noc.w=8", "cube.noc.h=2", "cube.sram.at=r1c0"}},
	{"many cubes", "default", []string{"sip.cube_mesh.w=16", "sip.cube_mesh.h=16"}},
	{"far too many cubes", "alpha_beta", []string{"sip.cube_mesh.w=40", "sip.cube_mesh.h=40"}},
	{"large NoC", "default", []string{"sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.noc.w=24", "cube.noc.h=20"}},
}

// forEachView runs a test on every view of every system.
func forEachView(t *testing.T, test func(*testing.T, *topology.Graph, View, *Diagram)) {
	for _, s := range systems {
		g := compile(t, s.base, s.sets...)
		for _, v := range Views {
			t.Run(s.name+"/"+string(v), func(t *testing.T) { test(t, g, v, drawView(t, g, v, Place{})) })
		}
	}
}

// TestLegible runs checkLegible on every view of every system.
func TestLegible(t *testing.T) {
	forEachView(t, func(t *testing.T, _ *topology.Graph, _ View, d *Diagram) { checkLegible(t, d) })
}

// checkLegible checks the layout of a diagram. Texts must not overlap other texts. They
// must stay inside their blocks and on the page. Blocks must not overlap other blocks and
// must be in their frames. Wires must not cross blocks or texts.
func checkLegible(t interface{ Errorf(string, ...any) }, d *Diagram) {
	c := &canvas{}
	d.draw(c)
	checkOnPage(t, c)
	checkNoOverlap(t, c)
	free, bounds := d.labels(), []rect(nil)
	for _, l := range free {
		bounds = append(bounds, l.bounds())
	}
	for i, b := range d.blocks {
		for _, l := range b.texts() {
			if !b.contains(l.bounds()) {
				t.Errorf("text %q at %v overflows block %s at %v", l.text, l.bounds(), b.name, b.rect)
			}
		}
		for i, l := range free {
			if bounds[i].overlaps(b.rect) {
				t.Errorf("text %q at %v overlaps block %s at %v", l.text, bounds[i], b.name, b.rect)
			}
		}
		if b.in >= 0 && !d.frames[b.in].contains(b.rect) {
			t.Errorf("block %s at %v is not in its frame %s at %v", b.name, b.rect, d.frames[b.in].name, d.frames[b.in].rect)
		}
		for _, c := range d.blocks[:i] {
			if b.overlaps(c.rect) {
				t.Errorf("blocks %s at %v and %s at %v overlap", b.name, b.rect, c.name, c.rect)
			}
		}
	}
	for _, w := range d.wires {
		for i := 1; i < len(w.path); i++ {
			for _, b := range d.blocks {
				if crosses(w.path[i-1], w.path[i], b.rect) {
					t.Errorf("wire %q from %v to %v crosses block %s at %v", w.name, w.path[i-1], w.path[i], b.name, b.rect)
				}
			}
			for k, l := range free {
				if crosses(w.path[i-1], w.path[i], bounds[k]) {
					t.Errorf("wire %q crosses the text %q at %v", w.name, l.text, bounds[k])
				}
			}
		}
	}
}

// checkNoOverlap checks that no two texts of a picture overlap.
func checkNoOverlap(t interface{ Errorf(string, ...any) }, c *canvas) {
	type placed struct {
		rect
		text string
	}
	var all []placed
	walk(c.items, "", func(it item, _ string) {
		if w, ok := it.(textLine); ok {
			now := placed{w.bounds(), w.text}
			for _, o := range all {
				if now.overlaps(o.rect) {
					t.Errorf("texts %q at %v and %q at %v overlap", now.text, now.rect, o.text, o.rect)
				}
			}
			all = append(all, now)
		}
	})
}

// TestRandomSystems checks that the pictures of random systems are legible.
func TestRandomSystems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draws := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(rt, name) }
		shape := rapid.SampledFrom(topology.Shapes).Draw(rt, "shape")
		w, h := draws("w", 1, 5), draws("h", 1, 5)
		sets := systemSettings(shape, w*h, "cube.cpu.at=r0c0", "cube.sram.at=r0c0",
			fmt.Sprintf("cube.noc.w=%d", draws("noc w", 2, 9)), fmt.Sprintf("cube.noc.h=%d", draws("noc h", 2, 9)),
			fmt.Sprintf("sip.cube_mesh.w=%d", draws("cubes w", 1, 4)), fmt.Sprintf("sip.cube_mesh.h=%d", draws("cubes h", 1, 4)),
			fmt.Sprintf("cube.pe_layout.pe_per_corner=%d", draws("PEs", 1, 9)))
		if shape.Grid() {
			sets = append(sets, fmt.Sprintf("system.sips.w=%d", w), fmt.Sprintf("system.sips.h=%d", h))
		}
		spec, err := topology.Parse("random", []byte("extends: default\n"), sets...)
		if err != nil {
			rt.Fatal(err)
		}
		g, err := topology.Compile(spec)
		if err != nil {
			rt.Fatal(err)
		}
		for _, v := range Views {
			d, err := Topology(g, v, Place{Cube: spec.CubesPerSIP() - 1})
			if err != nil {
				rt.Fatal(err)
			}
			checkLegible(rt, d)
		}
	})
}

// TestDiagramSVG checks that the SVG of each view is reproducible and well-formed, and
// names all components, the source and the hash of the system.
func TestDiagramSVG(t *testing.T) {
	forEachView(t, func(t *testing.T, g *topology.Graph, v View, d *Diagram) {
		svg := mustSVG(t, d)
		if again := mustSVG(t, drawView(t, g, v, Place{})); !bytes.Equal(svg, again) {
			t.Error("two runs gave different bytes")
		}
		var text strings.Builder
		dec := xml.NewDecoder(bytes.NewReader(svg))
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("not well-formed: %v", err)
			}
			if chars, ok := token.(xml.CharData); ok {
				text.Write(chars)
				text.WriteByte('\n')
			}
		}
		words := map[string]bool{}
		for _, w := range strings.Fields(text.String()) {
			words[w] = true
		}
		for _, name := range components(g, v) {
			if !words[name] {
				t.Errorf("no %s in the picture", name)
			}
		}
		for _, want := range []string{g.Spec().Source(), g.Spec().Hash()} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the picture does not say %q", want)
			}
		}
	})
}

// components returns the names that a view of the first SIP, cube and PE must show.
func components(g *topology.Graph, v View) []string {
	if v == ViewSystem {
		names := []string{"host"}
		for i := range g.Spec().System.SIPs.Count {
			names = append(names, fmt.Sprintf("sip%d", i))
		}
		return names
	}
	var names []string
	for id := range topology.NodeID(g.NumNodes()) {
		n, name := g.Node(id), g.Name(id)
		if n.SIP != 0 {
			continue
		}
		unit := n.Kind >= topology.KindPECPU
		switch v {
		case ViewSIP:
			if n.Cube < 0 || n.Kind == topology.KindUCIe {
				names = append(names, name)
			}
		case ViewCube:
			if n.Cube == 0 && unit {
				names = append(names, name[:strings.LastIndexByte(name, '.')])
			} else if n.Cube == 0 {
				names = append(names, name)
			}
		case ViewPE:
			if n.Cube == 0 && n.Index == 0 && (unit || n.Kind == topology.KindHBM) {
				names = append(names, name)
			}
		}
	}
	return names
}

// dotLine matches the lines that DOT writes. They are a subset of the Graphviz language in
// which every name is quoted.
var dotLine = func() *regexp.Regexp {
	str := `"(?:[^"\\]|\\.)*"`
	attrs := `\[\w+=(?:` + str + `|\w+)(?:, \w+=(?:` + str + `|\w+))*\];`
	return regexp.MustCompile(`^ *(?:digraph ` + str + ` \{|subgraph ` + str + ` \{|\}|(?:\w+=(?:` + str + `|\w+); ?)+|(?:node|edge) ` + attrs +
		`|` + str + `(?: -> ` + str + `)? ` + attrs + `)$`)
}()

// TestDOT checks that the Graphviz file of each view is reproducible and valid, and
// contains all blocks.
func TestDOT(t *testing.T) {
	forEachView(t, func(t *testing.T, g *topology.Graph, v View, d *Diagram) {
		dot := d.DOT()
		if again := drawView(t, g, v, Place{}).DOT(); !bytes.Equal(dot, again) {
			t.Error("two runs gave different bytes")
		}
		depth, nodes := 0, map[string]bool{}
		for line := range strings.Lines(string(dot)) {
			line = strings.TrimSuffix(line, "\n")
			if !dotLine.MatchString(line) {
				t.Fatalf("not Graphviz: %s", line)
			}
			name, _, _ := strings.Cut(strings.TrimSpace(line), " [")
			nodes[name] = true
			if strings.HasSuffix(line, "{") {
				depth++
			} else if strings.HasSuffix(line, "}") {
				depth--
			}
		}
		if depth != 0 {
			t.Errorf("%d braces are left open", depth)
		}
		for _, b := range d.blocks {
			if !nodes[quote(b.name)] {
				t.Errorf("no node %s", b.name)
			}
		}
	})
}

// TestGraphviz checks that Graphviz accepts the output of DOT. It is skipped if Graphviz is
// not installed.
func TestGraphviz(t *testing.T) {
	neato, err := exec.LookPath("neato")
	if err != nil {
		t.Skip("Graphviz is not installed")
	}
	for _, v := range Views {
		cmd := exec.Command(neato, "-n", "-Tcanon")
		cmd.Stdin = bytes.NewReader(drawView(t, compile(t, "torus2x3"), v, Place{}).DOT())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", v, err, out)
		}
	}
}

// TestOverrides checks which wires of each view are marked as overridden.
func TestOverrides(t *testing.T) {
	const overrides = "overrides=[" +
		"{link: sip0.io.switch<->sip1.io.switch, bandwidth: 50 GB/s}," +
		"{link: sip1.io.switch<->sip3.io.switch, absent: true}," +
		"{link: sip4.io.switch->sip5.io.switch, absent: true}," +
		"{link: sip1.cube5.ucie_e<->sip1.cube6.ucie_w, absent: true}," +
		"{link: sip1.cube5.r1c1->sip1.cube5.r1c2, latency: 3 ns}," +
		"{link: sip1.cube5.pe2.dma->sip1.cube5.pe2.tcm, bandwidth: 1 GB/s}]"
	g := compile(t, "torus2x3", overrides)
	tests := []struct {
		view View
		at   Place
		want map[string]state
	}{
		{ViewSystem, Place{}, map[string]state{
			"sip0.io.switch — sip1.io.switch\n50 GB/s": changed,
			"sip1.io.switch — sip3.io.switch\nabsent":  absent,
			"sip4.io.switch — sip5.io.switch\none way": oneDirection,
		}},
		{ViewSIP, Place{SIP: 1}, map[string]state{
			"sip1.cube5.ucie_e — sip1.cube6.ucie_w\nabsent": absent,
			"sip0.io.switch — sip1.io.switch\nsip1.io.switch — sip3.io.switch\nsip1.io.switch — sip5.io.switch\nchanged (2 of 3)": changed,
		}},
		{ViewSIP, Place{SIP: 2}, map[string]state{}},
		{ViewCube, Place{SIP: 1, Cube: 5}, map[string]state{
			"sip1.cube5.r1c1 — sip1.cube5.r1c2\n3 ns →":     changed,
			"sip1.cube5.ucie_e — sip1.cube6.ucie_w\nabsent": absent,
		}},
		{ViewPE, Place{SIP: 1, Cube: 5, PE: 2}, map[string]state{"sip1.cube5.pe2.dma — sip1.cube5.pe2.tcm\n1 GB/s →": changed}},
		{ViewPE, Place{}, map[string]state{}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.view, tt.at), func(t *testing.T) {
			d := drawView(t, g, tt.view, tt.at)
			checkLegible(t, d)
			got := map[string]state{}
			for _, w := range d.wires {
				if w.state != unchanged {
					got[w.name] = w.state
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("overridden wires: got %v, want %v", got, tt.want)
			}
			if marked := bytes.Contains(mustSVG(t, d), []byte(overrideColour.String())); marked != (len(tt.want) > 0) {
				t.Errorf("colour of overrides in the picture: got %v, want %v", marked, len(tt.want) > 0)
			}
		})
	}
}

// TestOneWay checks that a wire points in the remaining direction if an override removes
// the other direction.
func TestOneWay(t *testing.T) {
	g := compile(t, "torus2x3", "overrides=[{link: sip4.io.switch->sip5.io.switch, absent: true}, {link: sip1.io.switch->sip0.io.switch, absent: true},"+
		"{link: sip0.cube0.r1c1->sip0.cube0.r1c2, absent: true}]")
	tests := []struct {
		view View
		want []Wire
	}{
		{ViewSystem, []Wire{{"sip0", "sip1", true, "one_way", "one way"}, {"sip5", "sip4", true, "one_way", "one way"}}},
		{ViewCube, []Wire{{"sip0.cube0.r1c2", "sip0.cube0.r1c1", true, "one_way", "one way"}}},
		{ViewPE, nil},
	}
	for _, tt := range tests {
		d := drawView(t, g, tt.view, Place{})
		var got []Wire
		for _, w := range d.Data().Wires {
			if w.State != "usual" {
				got = append(got, w)
				edge := fmt.Sprintf("%s -> %s [color=\"%v\", style=dashed, arrowhead=normal", quote(w.From), quote(w.To), overrideColour)
				if !bytes.Contains(d.DOT(), []byte(edge)) {
					t.Errorf("%s: no %s in the Graphviz file", tt.view, edge)
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: overridden wires (-want +got):\n%s", tt.view, diff)
		}
	}
}

// TestWrapLegend checks where the lines of a legend are broken.
func TestWrapLegend(t *testing.T) {
	got := wrapLegend([]string{"sip0.cube10.ucie_e<->sip0.cube11.ucie_w\n3 GB/s, 1 ns", "sip0.cube1000.ucie_e<->sip0.cube1001.ucie_w\n3 GB/s", "r0c0->r0c1\n1 ns"})
	want := []string{"sip0.cube10.ucie_e<->sip0.cube11.ucie_w", "3 GB/s, 1 ns", "sip0.cube1000.ucie_e<->", "sip0.cube1001.ucie_w", "3 GB/s", "r0c0->r0c1 1 ns"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestShortNames(t *testing.T) {
	tests := []struct {
		numbers []int
		want    string
	}{
		{[]int{3}, "pe3"}, {[]int{0, 4}, "pe0, 4"}, {[]int{0, 4, 8}, "pe0, 4, 8"}, {[]int{0, 4, 8, 12}, "pe0, 4 … 12"},
	}
	for _, tt := range tests {
		if got := shortNames("pe", tt.numbers); got != tt.want {
			t.Errorf("shortNames(%v): got %q, want %q", tt.numbers, got, tt.want)
		}
	}
}

// TestNamesAtEnds checks that the first and the last box have their names next to them if
// boxes are too small for text.
func TestNamesAtEnds(t *testing.T) {
	tests := []struct {
		view View
		sets []string
		want []string
	}{
		{ViewSystem, systemSettings(topology.Torus2D, 1024), []string{"sip0", "sip1023"}},
		{ViewSystem, systemSettings(topology.Ring1D, 900), []string{"sip0", "sip899"}},
		{ViewSystem, systemSettings(topology.Line, 900), []string{"sip0", "sip899"}},
		{ViewSIP, []string{"sip.cube_mesh.w=40", "sip.cube_mesh.h=40"}, []string{"cube0", "cube1599"}},
		{ViewSystem, systemSettings(topology.Torus2D, 4), nil},
	}
	for _, tt := range tests {
		var got []string
		for _, n := range drawView(t, compile(t, "alpha_beta", tt.sets...), tt.view, Place{}).notes {
			if n.size == sizeDetail {
				got = append(got, n.text)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v: notes (-want +got):\n%s", tt.sets, diff)
		}
	}
}

// TestNoSuchPlace checks the errors for a SIP, cube, PE or view that does not exist.
func TestNoSuchPlace(t *testing.T) {
	g := compile(t, "default")
	tests := []struct {
		view View
		at   Place
		want string
	}{
		{ViewSIP, Place{SIP: 2}, "no sip2: the last is sip1"},
		{ViewCube, Place{Cube: -1}, "no cube-1: the last is cube15"},
		{ViewPE, Place{PE: 8}, "no pe8: the last is pe7"},
		{"die", Place{}, `no view "die": draw one of [system sip cube pe]`},
	}
	for _, tt := range tests {
		if _, err := Topology(g, tt.view, tt.at); err == nil || err.Error() != tt.want {
			t.Errorf("Topology(%s, %+v): got %v, want %s", tt.view, tt.at, err, tt.want)
		}
	}
}

// TestData checks that Data lists every block of the picture by name, and that its wires
// connect existing blocks.
func TestData(t *testing.T) {
	for _, view := range Views {
		spec, err := topology.Preset("torus2x3")
		if err != nil {
			t.Fatal(err)
		}
		g, err := topology.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Topology(g, view, Place{})
		if err != nil {
			t.Fatal(err)
		}
		data, names := d.Data(), map[string]bool{}
		for _, b := range data.Blocks {
			names[b.Name] = true
		}
		if len(names) != len(d.blocks) || len(data.Wires) == 0 {
			t.Errorf("%s: %d names of %d blocks, %d wires", view, len(names), len(d.blocks), len(data.Wires))
		}
		for _, w := range data.Wires {
			if !names[w.From] || !names[w.To] || w.State != "usual" {
				t.Errorf("%s: wire %+v", view, w)
			}
		}
	}
}

// labelTexts counts the labels of wires by text.
func labelTexts(d *Diagram) map[string]int {
	got := map[string]int{}
	for _, w := range d.wires {
		if w.label != nil {
			got[w.label.text]++
		}
	}
	return got
}

// TestBandwidths checks that the bandwidth of every kind of link is written next to at
// least one link, and next to all links if there are few.
func TestBandwidths(t *testing.T) {
	for _, tt := range []struct {
		base string
		sets []string
		view View
		want map[string]int
	}{
		{"default", nil, ViewSystem, map[string]int{"100 GB/s": 1}},
		{"torus2x3", nil, ViewSystem, map[string]int{"100 GB/s": 9}},
		{"mesh2x3", nil, ViewSystem, map[string]int{"100 GB/s": 7}},
		{"ring6", []string{"system.sips.link.links=4"}, ViewSystem, map[string]int{"4 × 100 GB/s": 6}},
		{"default", systemSettings(topology.Line, 4), ViewSystem, map[string]int{"100 GB/s": 3}},
		{"default", systemSettings(topology.Switch, 8), ViewSystem, map[string]int{"100 GB/s": 8}},
		{"default", systemSettings(topology.Torus2D, 64), ViewSystem, map[string]int{"100 GB/s": 1}},
		{"default", systemSettings(topology.FullyConnected, 8), ViewSystem, map[string]int{"100 GB/s": 1}},
		{"default", nil, ViewSIP, map[string]int{"128 GB/s": 1, "512 GB/s": 2, "100 GB/s": 1, "63 GB/s": 1}},
		{"default", nil, ViewCube, map[string]int{"256 GB/s": 1, "128 GB/s": 3}},
		{"default", nil, ViewPE, map[string]int{"256 GB/s": 2, "512 GB/s": 2}},
		{"alpha_beta", nil, ViewSIP, map[string]int{"100 GB/s": 1}}, // the other links have unlimited bandwidth
	} {
		got := labelTexts(drawView(t, compile(t, tt.base, tt.sets...), tt.view, Place{}))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %v, %s: labels (-want +got):\n%s", tt.base, tt.sets, tt.view, diff)
		}
	}
}

// TestOverrideTexts checks that the new bandwidths and latencies of overrides are written
// at their links, with an arrow if they apply to one direction.
func TestOverrideTexts(t *testing.T) {
	const there, back = "{link: sip0.io.switch->sip1.io.switch, ", "{link: sip1.io.switch->sip0.io.switch, "
	for _, tt := range []struct{ overrides, want string }{
		{"{link: sip0.io.switch<->sip1.io.switch, bandwidth: 50 GB/s, latency: 1 us}", "50 GB/s, 1 us"},
		{there + "bandwidth: 50 GB/s}", "50 GB/s →"},
		{back + "latency: 7 ns}", "7 ns ←"},
		{there + "bandwidth: 50 GB/s}, " + back + "bandwidth: 50 GB/s}", "50 GB/s"},
		{there + "bandwidth: 50 GB/s}, " + back + "bandwidth: 20 GB/s}", "50 GB/s →, 20 GB/s ←"},
		{there + "bandwidth: 50 GB/s}, " + back + "absent: true}", "50 GB/s one way"},
		{back + "absent: true}", "one way"},
		{"{link: sip0.io.switch<->sip1.io.switch, absent: true}", "absent"},
		{"{link: sip0.io.switch<->sip1.io.switch#1, bandwidth: 50 GB/s}", "#1 50 GB/s"},
		{"{link: sip0.io.switch<->sip1.io.switch#0, absent: true}", "#0 absent"},
	} {
		g := compile(t, "mesh2x3", "system.sips.link.links=2", "overrides=["+tt.overrides+"]")
		got := labelTexts(drawView(t, g, ViewSystem, Place{}))
		if want := map[string]int{tt.want: 1, "2 × 100 GB/s": 6}; !cmp.Equal(got, want) {
			t.Errorf("%s: labels %v, want %v", tt.overrides, got, want)
		}
	}
	g := compile(t, "mesh2x3", "overrides=["+"{link: sip0.io.switch->sip2.io.switch, latency: 7 ns}, {link: sip3.io.switch->sip1.io.switch, latency: 8 ns}]")
	if got, want := labelTexts(drawView(t, g, ViewSystem, Place{})), map[string]int{"7 ns ↓": 1, "8 ns ↑": 1, "100 GB/s": 5}; !cmp.Equal(got, want) {
		t.Errorf("links in columns: labels %v, want %v", got, want)
	}
}

// TestDiagramPNG checks that the picture has 1600×900 pixels and shows the colour of SIPs.
func TestDiagramPNG(t *testing.T) {
	img := mustImage(t, drawView(t, compile(t, "default"), ViewSystem, Place{}))
	if size := img.Bounds().Size(); size.X != pageW || size.Y != pageH {
		t.Errorf("size: got %v, want %v × %v", size, pageW, pageH)
	}
	r, g, b, _ := img.At(pageMargin+240, pageHead+400).RGBA()
	if got := colour(r>>8<<16 | g>>8<<8 | b>>8); got != roles[compute].fill {
		t.Errorf("inside sip0: got %v, want %v", got, roles[compute].fill)
	}
}

// TestTextSizes checks that boxes of equal size have text of equal size, even if their
// names differ in length.
func TestTextSizes(t *testing.T) {
	d := drawView(t, compile(t, "default", "sip.cube_mesh.w=16", "sip.cube_mesh.h=16"), ViewSIP, Place{})
	sizes := map[float64]int{}
	for _, b := range d.blocks {
		if b.role == compute {
			sizes[b.texts()[0].size]++
		}
	}
	if want := map[float64]int{11: 256}; !cmp.Equal(sizes, want) {
		t.Errorf("sizes of the names of cubes: got %v, want %v", sizes, want)
	}
}

// texts returns the texts of a block.
func (b block) texts() []textLine {
	ws, _ := b.layoutLines(b.shownLines, b.size)
	return ws
}
