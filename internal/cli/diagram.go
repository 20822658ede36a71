package cli

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/figure"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

// drawing is what `kernbench topology diagram --format json` prints.
type drawing struct {
	Version  string      `json:"version"` // of kernbench
	Topology config.Used `json:"topology"`
	figure.Data
}

func diagramCmd() *cobra.Command {
	views := make([]string, len(figure.Views))
	for i, v := range figure.Views {
		views[i] = string(v)
	}
	cmd := &cobra.Command{
		Use:   "diagram",
		Short: "Draw a system, a SIP, a cube or a PE",
		Long: `Diagram draws a view of a system as SVG, at the size of a slide, as a Graphviz
file, or as JSON for programs that draw their own. The views are the SIPs and
their links (system), the cubes of a SIP and its IO chiplet (sip), the NoC of a
cube and what hangs on it (cube), and the units of a PE (pe). Links that
overrides change or take away, both ways or one, stand out.

SIPs, cubes and PEs are alike but for overrides; --sip, --cube and --pe say which
one to draw.

--format json has blocks, with their names and places, and wires from block to
block: one_way, and a state that is usual, changed, one_way or absent.`,
		Example: `  kernbench topology diagram -o system.svg
  kernbench topology diagram --view cube --topology torus2x3 -o cube.svg
  kernbench topology diagram --view sip --format dot | dot -Tpdf -o sip.pdf`,
		Args: noArgs,
	}
	system := addTopologyFlags(cmd)
	view := choiceFlag(cmd, "view", "what to draw", views...)
	format := choiceFlag(cmd, "format", "picture, Graphviz file, or blocks and wires as data", "svg", "dot", "json")
	var at figure.Place
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
		g, err := system.load(cmd.Context())
		if err != nil {
			return err
		}
		var use files
		use.readsConfig("topology", g.Spec())
		if out != "-" {
			use.writes("--out", out)
		}
		if err := use.check(); err != nil {
			return err
		}
		d, err := figure.Topology(g, figure.View(*view), at)
		if err != nil {
			return badInput(err)
		}
		var picture bytes.Buffer
		switch *format {
		case "svg":
			picture.Write(d.SVG())
		case "dot":
			picture.Write(d.DOT())
		case "json":
			if err := table.WriteJSON(&picture, drawing{version.Version, config.UsedBy(g.Spec()), d.Data()}); err != nil {
				return err
			}
		}
		if out == "-" {
			_, err := picture.WriteTo(cmd.OutOrStdout())
			return err
		}
		if err := file.Write(out, picture.Bytes()); err != nil {
			return badInput(err)
		}
		return nil
	}
	return cmd
}
