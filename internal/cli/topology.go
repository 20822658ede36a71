package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

func topologyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Show, check and draw the simulated machine",
		Long: `A machine consists of SIPs (devices), a SIP of cubes (dies), and a cube of PEs
and memories. Links connect them. A topology file describes a machine. These
commands show what the description results in, without running anything.`,
		Example: `  kernbench topology show --depth 2
  kernbench topology presets`,
	}
	makeParent(cmd)
	checks := validator{Kind: setup.Topology, files: "topology files", fallback: "the preset default", presets: topology.Presets(), list: "systems", member: ", pes"}
	cmd.AddCommand(showCmd(), checks.command(), diagramCmd(), schemaCommand("topology", "a topology file", topology.Schema), presetsCmd())
	return cmd
}

func presetsCmd() *cobra.Command {
	return setRun(&cobra.Command{
		Use:   "presets",
		Short: "List the built-in machines",
		Long: `Presets lists the built-in machines. --topology takes their names, and a file
may begin with "extends: NAME" and give only the differences.`,
		Example: `  kernbench topology presets
  kernbench topology show --topology ring6 --format yaml > my-system.yaml`,
		Args: noArgs,
	}, func(*cobra.Command, []string) (result, error) { return describe.ListPresets() })
}

func diagramCmd() *cobra.Command {
	views := printable.Words(draw.Views)
	cmd := &cobra.Command{
		Use:   "diagram",
		Short: "Draw a machine, a SIP, a cube or a PE",
		Long: `Diagram draws a view of a machine: the SIPs and their links (system), the cubes
of a SIP and its IO chiplet (sip), the NoC of a cube and the units on it (cube),
or the units of a PE (pe). The legend has the bandwidths of links. A link that
is changed or removed by an override is highlighted, with its own numbers.
--sip, --cube and --pe select what to draw; without overrides all are the same.

The ending of the file name selects the format: .svg, .png, .dot or .gv, .json.
--format selects it for standard output and for other names.

JSON has the keys blocks (names and positions) and wires (links between blocks).
A wire has the keys one_way (true or false) and state (usual, changed, one_way
or absent).`,
		Example: `  kernbench topology diagram -o system.svg
  kernbench topology diagram --view cube --topology torus2x3 -o cube.png
  kernbench topology diagram --view sip --format dot | dot -Tpdf -o sip.pdf`,
		Args: noArgs,
	}
	system := addConfigFlags(cmd, setup.Topology)
	view := choiceFlag(cmd, "view", "what to draw", views...)
	given := wordFlag(cmd, "format", "", "output format (default: by the ending of --out, else svg)", "", draw.DiagramFormats)
	var at draw.Place
	intFlag(cmd, &at.SIP, "sip", 0, "number `N` of the SIP, for views other than system")
	intFlag(cmd, &at.Cube, "cube", 0, "number `N` of the cube, for the views cube and pe")
	intFlag(cmd, &at.PE, "pe", 0, "number `N` of the PE, for the view pe")
	var out string
	cmd.Flags().StringVarP(&out, "out", "o", "-", "`FILE` to write, - for standard output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for i, flag := range []string{"sip", "cube", "pe"} {
			if needed := views[i+1:]; cmd.Flags().Changed(flag) && !slices.Contains(needed, *view) {
				return badInput(fmt.Errorf("--%s says nothing to the view %s: drop it or draw one of %v", flag, *view, needed))
			}
		}
		format, err := draw.DiagramFormat(out, *given)
		if err != nil {
			return badInput(err)
		}
		use := new(file.Uses)
		if out != "-" {
			use.Writes("--out", out)
		}
		c, err := system.load(cmd.Context(), use)
		if err != nil {
			return err
		}
		d, err := draw.Topology(c.System, draw.View(*view), at)
		if err != nil {
			return badInput(err)
		}
		picture, err := d.Encode(format)
		if err != nil {
			return badInput(err)
		}
		if out == "-" {
			_, err := cmd.OutOrStdout().Write(picture)
			return err
		}
		return badInput(file.Write(out, picture))
	}
	return cmd
}

func showCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print a machine and its numbers",
		Long: `Show prints a machine as a tree: the SIPs and their links, a SIP, a cube, a PE
with its engines and their peaks, and the totals. Equal parts are printed once;
overridden links are listed.

--links lists every directed link with its bandwidth, its latency and the
overhead of the node it enters; overrides use the same names of links.
--format yaml prints a complete topology file.

--format json has the structure of the YAML. Numbers are exact, and their keys
end with the unit: bandwidth_gbs (null: unlimited), latency_ns, size_bytes,
clock_ghz, pitch_mm. The JSON also has the keys corners (the PEs and their
routers), per_pe, per_sip, totals (gemm_tflops, hbm_bytes, hbm_gbs) and, with
--links, links (name, bandwidth_gbs, latency_ns, overhead_ns).`,
		Example: `  kernbench topology show --depth 2
  kernbench topology show --topology torus2x3 --links | grep io.switch
  kernbench topology show --set sip.ucie.bandwidth=256GB/s --format yaml`,
		Args: noArgs,
	}
	system := addConfigFlags(cmd, setup.Topology)
	format := formatFlag(cmd, "yaml")
	links := cmd.Flags().Bool("links", false, "list every directed link")
	var depth int
	intFlag(cmd, &depth, "depth", describe.DepthPE, "depth `N` of the tree: 1 system, 2 SIP, 3 cube, 4 PE")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := refuse(cmd,
			misuse{"depth", depth < describe.DepthSystem || depth > describe.DepthPE, fmt.Sprintf("%d: write 1 (system), 2 (SIP), 3 (cube) or 4 (PE)", depth)},
			misuse{"depth", *format != "text", fmt.Sprintf("is for --format text: %s always has everything", *format)},
			misuse{"links", *links && *format == "yaml", "is for --format text and json: the configuration does not list links"},
		); err != nil {
			return badInput(err)
		}
		c, err := system.load(cmd.Context(), new(file.Uses))
		if err != nil {
			return err
		}
		g, ctx, out := c.System, cmd.Context(), cmd.OutOrStdout()
		if *format == "yaml" {
			_, err := out.Write(g.Spec().YAML())
			return err
		}
		m := describe.Describe(g)
		switch {
		case *format == "json" && *links:
			return describe.WriteMachine(ctx, out, m, g)
		case *format == "json":
			return table.WriteJSON(out, m)
		}
		fmt.Fprint(out, m.Tree(depth))
		if *links {
			fmt.Fprintln(out)
			return describe.WriteLinks(ctx, out, g)
		}
		return nil
	}
	return cmd
}
