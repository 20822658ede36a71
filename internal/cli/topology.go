package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

func topologyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Show, check and draw the simulated system",
		Long: `A system is SIPs (devices) of cubes (dies) of PEs, their memories, and the links
between them, as a topology file describes it. These commands tell what a
description comes to, before anything runs on it.`,
		Example: `  kernbench topology show --depth 2
  kernbench topology presets
  kernbench topology schema > topology.schema.json`,
	}
	group(cmd)
	cmd.AddCommand(showCmd(), topologyValidator.command(), diagramCmd(), schemaCommand("topology", "a topology file", topology.Schema), presetsCmd())
	return cmd
}

var topologyValidator = validator{
	configKind: topologyKind, files: "topology files", usual: "the preset default", presets: topology.Presets(), list: "systems", member: ", pes",
	size: func(c configs, v *validation) string {
		v.PEs = describe.Describe(c.system).Totals.PEs
		return fmt.Sprintf("%d PEs", v.PEs)
	},
}

// preset is a row of `kernbench topology presets`.
type preset struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func presetsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "presets",
		Short: "List the systems that come with kernbench",
		Long: `Presets lists the systems that come with kernbench. Any of them is a --topology,
and a file of your own may say "extends: NAME" and give only what differs.`,
		Example: `  kernbench topology presets
  kernbench topology show --topology ring6 --format yaml > my-system.yaml`,
		Args: noArgs,
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var list []preset
		for _, name := range topology.Presets() {
			src, err := topology.PresetSource(name)
			if err != nil {
				return fmt.Errorf("list presets: %w", err)
			}
			list = append(list, preset{name, firstSentence(string(src))})
		}
		return printResult(cmd, *format, list, func(w io.Writer) error {
			return writeRows(w, []string{"preset", "description"}, list, func(p preset) []string { return []string{p.Name, p.Description} })
		})
	}
	return cmd
}

// firstSentence is that of the comment a file begins with.
func firstSentence(src string) string {
	var words []string
	for line := range strings.Lines(src) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return strings.TrimSpace(sentence)
}

// drawing is the output of `kernbench topology diagram --format json`.
type drawing struct {
	Version  string          `json:"version"` // of kernbench
	Topology topology.Origin `json:"topology"`
	draw.Data
}

func diagramCmd() *cobra.Command {
	views := wordsOf(draw.Views, func(v draw.View) string { return string(v) })
	cmd := &cobra.Command{
		Use:   "diagram",
		Short: "Draw a system, a SIP, a cube or a PE",
		Long: `Diagram draws a view of a system as a picture (SVG or PNG, at the size of a
slide), as a Graphviz file, or as JSON for programs that draw their own. The views
are the SIPs and their links (system), the cubes of a SIP and its IO chiplet (sip),
the NoC of a cube and the units on it (cube), and the units of a PE (pe). Links
have their bandwidths in the legend, and next to them where there is room. Links
that overrides change or remove stand out, with their own numbers.

The ending of the file name selects the format: .svg, .png, .dot or .gv, .json.
--format selects it for standard output and for names with another ending or none.

SIPs, cubes and PEs are alike but for overrides; --sip, --cube and --pe say which
one to draw.

JSON has blocks, with their names and places, and wires from block to block:
one_way, and a state that is usual, changed, one_way or absent.`,
		Example: `  kernbench topology diagram -o system.svg
  kernbench topology diagram --view cube --topology torus2x3 -o cube.png
  kernbench topology diagram --view sip --format dot | dot -Tpdf -o sip.pdf`,
		Args: noArgs,
	}
	system := addConfigFlags(cmd, topologyKind)
	view := choiceFlag(cmd, "view", "what to draw", views...)
	given := wordFlag(cmd, "format", "", "picture, Graphviz file, or blocks and wires as data (default: by the ending of --out, else svg)", "", diagramFormats)
	var at draw.Place
	intFlag(cmd, &at.SIP, "sip", 0, "which SIP, for all views but system")
	intFlag(cmd, &at.Cube, "cube", 0, "which cube, for the views cube and pe")
	intFlag(cmd, &at.PE, "pe", 0, "which PE, for the view pe")
	var out string
	cmd.Flags().StringVarP(&out, "out", "o", "-", "`FILE` to write, - for standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for i, flag := range []string{"sip", "cube", "pe"} {
			if needed := views[i+1:]; cmd.Flags().Changed(flag) && !slices.Contains(needed, *view) {
				return badInput(fmt.Errorf("--%s says nothing to the view %s: drop it or draw one of %v", flag, *view, needed))
			}
		}
		format, err := formatOf(out, *given)
		if err != nil {
			return badInput(err)
		}
		c, err := system.load(cmd.Context())
		if err != nil {
			return err
		}
		use := new(files).readsConfigs(c)
		if out != "-" {
			use.writes("--out", out)
		}
		if err := use.check(); err != nil {
			return err
		}
		d, err := draw.Topology(c.system, draw.View(*view), at)
		if err != nil {
			return badInput(err)
		}
		picture, err := encodeDiagram(d, format, c.system.Spec())
		if err != nil {
			return badInput(err)
		}
		if out == "-" {
			_, err := cmd.OutOrStdout().Write(picture)
			return err
		}
		if err := file.Write(out, picture); err != nil {
			return badInput(err)
		}
		return nil
	}
	return cmd
}

// diagramFormats are the values of --format. They are endings of file names too, and .gv is dot.
var diagramFormats = []string{"svg", "png", "dot", "json"}

// formatOf returns the format that is given, or else the one that the ending of a file name
// selects: svg if there is none. It returns an error for an ending that selects none, and if the
// two differ.
func formatOf(out, given string) (string, error) {
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
	if ending == "" {
		return cmp.Or(given, "svg"), nil
	}
	if ending == "gv" {
		ending = "dot"
	}
	switch known := slices.Contains(diagramFormats, ending); {
	case known && given != "" && given != ending:
		return "", fmt.Errorf("--out %s is a name for %s and --format says %s: drop --format, or change the name", out, ending, given)
	case known:
		return ending, nil
	case given == "":
		return "", fmt.Errorf("--out %s: the ending selects no format: write .svg, .png, .dot, .gv or .json, or add --format", out)
	}
	return given, nil
}

// encodeDiagram returns a diagram in a format.
func encodeDiagram(d *draw.Diagram, format string, spec *topology.Spec) ([]byte, error) {
	switch format {
	case "dot":
		return d.DOT(), nil
	case "json":
		var b bytes.Buffer
		err := table.WriteJSON(&b, drawing{version.Version, topology.OriginOf(spec), d.Data()})
		return b.Bytes(), err
	}
	return draw.Encode("."+format, d)
}
