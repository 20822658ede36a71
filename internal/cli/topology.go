package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/describe"
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
