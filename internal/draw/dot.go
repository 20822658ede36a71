package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// DOT returns the diagram as a Graphviz file: frames are clusters, and a wire in both directions
// is one edge. The positions of the picture are hints for neato -n.
func (d *Diagram) DOT() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %s {\n", quote(d.name))
	fmt.Fprintf(&b, "  label=%s; labelloc=t; fontname=Helvetica; fontsize=24;\n", quote(d.title+"\n"+d.subtitle(math.Inf(1))))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fontname=Helvetica];\n")
	b.WriteString("  edge [dir=both, arrowhead=none, arrowtail=none, fontname=Helvetica];\n")
	d.writeCluster(&b, -1, "  ")
	for _, w := range d.wires {
		if w.from < 0 {
			continue // stands for wires that are edges of their own
		}
		fmt.Fprintf(&b, "  %s -> %s [%s];\n", quote(d.blocks[w.from].name), quote(d.blocks[w.to].name), w.attributes())
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// writeCluster writes the content of a frame, or with -1 of the whole picture.
func (d *Diagram) writeCluster(b *bytes.Buffer, in int, indent string) {
	for i, f := range d.frames {
		if f.in != in {
			continue
		}
		fmt.Fprintf(b, "%ssubgraph %s {\n%s  label=%s; color=\"%v\";\n", indent, quote("cluster_"+f.name), indent, quote(f.text), frameLine)
		d.writeCluster(b, i, indent+"  ")
		fmt.Fprintf(b, "%s}\n", indent)
	}
	for _, bl := range d.blocks {
		if bl.in != in {
			continue
		}
		p := roles[bl.role]
		c, text := bl.centre(), cmp.Or(strings.Join(bl.lines, "\n"), lastPart(bl.name))
		fmt.Fprintf(b, "%s%s [label=%s, color=\"%v\", fillcolor=\"%v\", pos=\"%d,%d\"];\n", indent, quote(bl.name), quote(text), p.line, p.fill, pixels(c.x), pixels(d.h-c.y))
	}
}

// attributes returns the looks of a wire as an edge.
func (w wire) attributes() string {
	colour, style := roles[w.role].line, states[w.state].dot
	if w.state != unchanged {
		colour = overrideColour
	} else if w.role == command {
		style = "dashed"
	}
	text := fmt.Sprintf("color=\"%v\", style=%s", colour, style)
	if w.oneWay {
		text += ", arrowhead=normal"
	}
	if w.label != nil {
		text += ", label=" + quote(w.label.text)
	}
	return text
}

// quote returns a string of the language, in which a line break is \n.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable.Text(s)) + `"`
}

// Data is a diagram as data, as `kernbench topology diagram --format json` prints it.
type Data struct {
	Version  string          `json:"version"` // of kernbench
	Topology topology.Origin `json:"topology"`
	Title    string          `json:"title"`
	Subtitle string          `json:"subtitle"`
	Width    int             `json:"width"` // area of the blocks
	Height   int             `json:"height"`
	Blocks   []Block         `json:"blocks"`
	Wires    []Wire          `json:"wires"`
}

// Block is a component, or several drawn as one, and its place.
type Block struct {
	Name string   `json:"name"` // of the component; of several, separated by spaces
	Text []string `json:"text"`
	X    int      `json:"x"`
	Y    int      `json:"y"`
	W    int      `json:"w"`
	H    int      `json:"h"`
}

// Wire is all links between two blocks.
type Wire struct {
	From   string `json:"from"`
	To     string `json:"to"`
	OneWay bool   `json:"one_way"` // by nature, or because the other direction is absent
	State  string `json:"state"`   // usual; changed, one_way or absent by overrides
	Label  string `json:"label,omitempty"`
}

// Data returns the blocks and wires of the diagram.
func (d *Diagram) Data() Data {
	data := Data{
		Version: version.Version, Topology: topology.Origin{Source: d.source, Hash: d.hash}, Title: d.title, Subtitle: d.subtitle(math.Inf(1)),
		Width: pixels(d.w), Height: pixels(d.h), Wires: []Wire{}, Blocks: lists.Make(len(d.blocks), func(i int) Block {
			b := d.blocks[i]
			return Block{b.name, b.lines, pixels(b.x), pixels(b.y), pixels(b.w), pixels(b.h)}
		}),
	}
	for _, w := range d.wires {
		if w.from < 0 {
			continue // stands for wires of their own
		}
		wire := Wire{From: d.blocks[w.from].name, To: d.blocks[w.to].name, OneWay: w.oneWay, State: states[w.state].data}
		if w.label != nil {
			wire.Label = w.label.text
		}
		data.Wires = append(data.Wires, wire)
	}
	return data
}

func pixels(v float64) int { return int(math.Round(v)) }

// DiagramFormats are the formats of diagrams. They are endings of file names too, and .gv is dot.
var DiagramFormats = []string{"svg", "png", "dot", "json"}

// DiagramFormat returns the format that is given, or else the one that the ending of a file name
// selects: svg if there is none. It returns an error for an ending that selects none, and if the
// two differ.
func DiagramFormat(out, given string) (string, error) {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
	if ending == "" {
		return cmp.Or(given, "svg"), nil
	}
	if ending == "gv" {
		ending = "dot"
	}
	switch known := slices.Contains(DiagramFormats, ending); {
	case known && given != "" && given != ending:
		return "", fmt.Errorf("--out %s is a name for %s and --format says %s: drop --format, or change the name", out, ending, given)
	case known:
		return ending, nil
	case given == "":
		return "", fmt.Errorf("--out %s: the ending selects no format: write .svg, .png, .dot, .gv or .json, or add --format", out)
	}
	return given, nil
}

// Encode returns the diagram in one of DiagramFormats.
func (d *Diagram) Encode(format string) ([]byte, error) {
	switch format {
	case "dot":
		return d.DOT(), nil
	case "json":
		var b bytes.Buffer
		err := table.WriteJSON(&b, d.Data())
		return b.Bytes(), err
	}
	return Encode("."+format, d)
}
