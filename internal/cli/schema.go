package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// schemaCommand prints the JSON Schema of a kind of file, for the command above it.
func schemaCommand(of, file string, schema func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of " + file,
		Long: fmt.Sprintf(`Schema prints the JSON Schema of %s, with which editors complete keys
and mark mistakes as you type. Name it in the first line of your file:

  # yaml-language-server: $schema=%s.schema.json`, file, of),
		Example: fmt.Sprintf("  kernbench %s schema > %[1]s.schema.json", of),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(schema())
			return err
		},
	}
}
