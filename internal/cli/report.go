package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/plot"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

// addReport gives a command --report.
func addReport(cmd *cobra.Command) *string {
	return cmd.Flags().String("report", "", "`FILE` for a page with a table to sort, figures, the configuration and how to reproduce it; ends in .html")
}

// checkReport refuses names that no browser would open as a page.
func checkReport(name string) error {
	if ext := filepath.Ext(name); name != "" && ext != ".html" && ext != ".htm" {
		return fmt.Errorf("--report %s: the report is a page: write a name that ends in .html", name)
	}
	return nil
}

// writeReport adds a table of results, figures of it and the command line to a page, and
// writes the page. Nothing is written if there is no name.
func writeReport(cmd *cobra.Command, name string, p page.Page, t *table.Table) error {
	if name == "" {
		return nil
	}
	results := page.Section{Heading: "Results", Tables: []page.Table{{Caption: "All rows. A click on a name sorts by that column.", Table: t}}}
	for _, f := range plot.Figures(t, plot.Request{About: cmp.Or(p.Lead, p.Title)}) {
		svg, err := draw.SVG(f)
		if err != nil {
			return err
		}
		results.Figures = append(results.Figures, page.Figure{Caption: f.Title, SVG: svg})
	}
	p.Sections = append(p.Sections, results)
	p.Facts = append([][2]string{{"kernbench", version.Version}, {"rows", fmt.Sprint(len(t.Rows))}}, p.Facts...)
	p.Reproduce = []string{commandLine(cmd)}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		return err
	}
	if err := file.Write(name, b.Bytes()); err != nil {
		return badInput(fmt.Errorf("--report: %w", err))
	}
	return nil
}

// commandLine returns the command with its arguments and the flags that were given.
func commandLine(cmd *cobra.Command) string {
	words := append(strings.Fields(cmd.CommandPath()), cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name+"="+v)
		}
	})
	for i, w := range words {
		words[i] = printable.ShellWord(w)
	}
	return strings.Join(words, " ")
}
