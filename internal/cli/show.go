package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/setup"
	"github.com/kernbench/kernbench/table"
)

func showCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print a system and its numbers",
		Long: `Show prints a system as a tree: the SIPs and their links, a SIP, a cube, a PE with
its engines and their peaks, and the totals. What is alike is told once, and
overridden links are listed. The first line says which configuration was used.

--links lists every directed link with its bandwidth, its latency on the wire
and the overhead of the node it enters; an override names links as shown there.
--format yaml prints the effective configuration, which loads back.

--format json has the keys of the YAML, nested alike, with exact numbers whose
unit ends the key: bandwidth_gbs (null: unlimited), latency_ns, size_bytes,
clock_ghz, pitch_mm. Beside the configuration stand corners (the PEs and their
routers), per_pe, per_sip and totals (gemm_tflops, null when it takes no time;
hbm_bytes, hbm_gbs), and with --links a list links of name, bandwidth_gbs,
latency_ns and overhead_ns.`,
		Example: `  kernbench topology show --depth 2
  kernbench topology show --topology torus2x3 --links | grep io.switch
  kernbench topology show --set sip.ucie.bandwidth=256GB/s --format yaml > topology.yaml`,
		Args: noArgs,
	}
	system := addConfigFlags(cmd, setup.Topology)
	format := formatFlag(cmd, "yaml")
	links := cmd.Flags().Bool("links", false, "list every directed link")
	var depth int
	intFlag(cmd, &depth, "depth", describe.DepthPE, "how far down the tree goes: 1 system, 2 SIP, 3 cube, 4 PE")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := refuse(cmd,
			misuse{"depth", depth < describe.DepthSystem || depth > describe.DepthPE, fmt.Sprintf("%d: write 1 (system), 2 (SIP), 3 (cube) or 4 (PE)", depth)},
			misuse{"depth", *format != "text", fmt.Sprintf("is for --format text: %s always has everything", *format)},
			misuse{"links", *links && *format == "yaml", "is for --format text and json: the configuration does not list links"},
		); err != nil {
			return badInput(err)
		}
		c, err := system.loadAlone(cmd.Context())
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

// showCommand makes a command print a configuration of a kind: as show returns it, or as YAML.
func showCommand(k *setup.Kind, cmd *cobra.Command, show func(*setup.Loaded) (result, error)) *cobra.Command {
	cmd.Args = noArgs
	flags := addConfigFlags(cmd, k)
	format := formatFlag(cmd, "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := flags.loadAlone(cmd.Context())
		if err != nil {
			return err
		}
		if *format == "yaml" {
			_, err := cmd.OutOrStdout().Write(c.Config().YAML())
			return err
		}
		shown, err := show(c)
		if err != nil {
			return err
		}
		return printResult(cmd, *format, shown)
	}
	return cmd
}

// result is what a command prints: an object of JSON, text for people, and for commands with
// --format csv a table.
type result interface{ WriteText(io.Writer) error }

// printResult prints a result in a format.
func printResult(cmd *cobra.Command, format string, r result) error {
	w := cmd.OutOrStdout()
	switch format {
	case "json":
		return table.WriteJSON(w, r)
	case "csv":
		return r.(interface{ WriteCSV(io.Writer) error }).WriteCSV(w)
	}
	return r.WriteText(w)
}

// writeSome writes a table after an empty line, or nothing if the list is empty.
func writeSome[E any](w io.Writer, header []string, list []E, cells func(E) []string) {
	if len(list) > 0 {
		fmt.Fprintln(w)
		table.WriteList(w, header, list, cells)
	}
}

// orDash returns a text, or a dash if the value that it tells of is zero.
func orDash[T comparable](value T, text string) string {
	if value == *new(T) {
		return "-"
	}
	return text
}

func numberOrDash(n int) string { return orDash(n, strconv.Itoa(n)) }
