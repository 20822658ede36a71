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

// DOT returns the diagram as a Graphviz file. Frames are clusters, and a wire in both
// directions is one edge. The file contains the positions of the blocks in the picture,
// which neato -n uses.
func (d *Diagram) DOT() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %s {\n", quote(d.name))
	fmt.Fprintf(&b, "  label=%s; labelloc=t; fontname=Helvetica; fontsize=24;\n", quote(d.title+"\n"+d.subtitle(math.Inf(1))))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fontname=Helvetica];\n")
	b.WriteString("  edge [dir=both, arrowhead=none, arrowtail=none, fontname=Helvetica];\n")
	d.writeCluster(&b, -1, "  ")
	for _, w := range d.wires {
		if w.from < 0 {
			continue // the wires that it stands for are written instead
		}
		fmt.Fprintf(&b, "  %s -> %s [%s];\n", quote(d.blocks[w.from].name), quote(d.blocks[w.to].name), w.attributes())
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// writeCluster writes the frames and blocks inside the frame whose index is `in`. If `in`
// is -1, it writes the frames and blocks outside of all frames.
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

// attributes returns the Graphviz attributes of a wire.
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

// quote returns a quoted string of the Graphviz language, in which a line break is \n.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable.Text(s)) + `"`
}

// Data is a diagram as data. Its JSON is the output of `kernbench topology diagram --format
// json`.
type Data struct {
	Version  string          `json:"version"` // version of kernbench
	Topology topology.Origin `json:"topology"`
	Title    string          `json:"title"`
	Subtitle string          `json:"subtitle"`
	Width    int             `json:"width"` // size of the area of the blocks, in pixels
	Height   int             `json:"height"`
	Blocks   []Block         `json:"blocks"`
	Wires    []Wire          `json:"wires"`
}

// Block is a component, or several components drawn as one, with its position in pixels.
type Block struct {
	Name string   `json:"name"` // name of the component, or names separated by spaces
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
	OneWay bool   `json:"one_way"` // the link has one direction, or the other direction is absent
	State  string `json:"state"`   // "usual", or the effect of overrides: "changed", "one_way" or "absent"
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
			continue // the wires that it stands for are listed instead
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

// DiagramFormats lists the formats of diagrams. Each format is also a file name extension.
// The extension .gv selects dot.
var DiagramFormats = []string{"svg", "png", "dot", "json"}

// DiagramFormat returns the format of the picture for the file name `out`. `given` is the
// format that the user has chosen, or "". The extension of the name selects a format. If
// there is no extension, or the extension selects no format, the result is `given`. Without
// an extension and without `given`, the result is svg. DiagramFormat returns an error if
// the extension and `given` select different formats. It also returns an error if the
// extension selects no format and `given` is "".
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

// Encode returns the diagram in one of the formats of DiagramFormats.
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
