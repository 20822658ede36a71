package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/table"
)

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
