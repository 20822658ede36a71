package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

func versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Long: `Version prints the version of kernbench that results carry, the module as the
build resolved it, the Go toolchain, and the revision of the program's
repository where the build recorded one.`,
		Example: `  kernbench version
  kernbench version --format json`,
		Args: noArgs,
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, out := version.ReadBuild(), cmd.OutOrStdout()
		if *format == "json" {
			return table.WriteJSON(out, b)
		}
		fmt.Fprintf(out, "kernbench %s\nmodule    %s %s\nprogram   %s\ngo        %s\n", b.Version, b.Module, b.Resolved, b.Program, b.Go)
		if b.Revision != "" {
			modified := ""
			if b.Modified {
				modified = " (modified)"
			}
			fmt.Fprintf(out, "revision  %s%s\n", b.Revision, modified)
		}
		return nil
	}
	return cmd
}
