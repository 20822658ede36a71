package benches

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/sweep"
	"github.com/kernbench/kernbench/torch"
)

// A milestone is a bench that runs sweeps, each point on a machine of its own, and
// writes tables, figures and a page to its folder. What all milestones need is here.

// milestone is a bench of that kind, and the tables it writes.
type milestone struct {
	name   string
	tables []string
}

// runPoints runs the points of a milestone side by side, or takes over those that the
// folder has of an earlier run with the same numbers. The tables and the page of that run
// are removed when this one is known to go on: they are not of the points that come.
func runPoints[Row any](ctx *torch.Context, m milestone, points []sweep.Point, run func(sweep.Point) (Row, error)) ([]Row, error) {
	results := filepath.Join(ctx.Folder(), "points.jsonl")
	program, err := report.Program()
	if err != nil {
		return nil, fmt.Errorf("find out which program this is: %w", err)
	}
	if err := os.MkdirAll(ctx.Folder(), 0o777); err != nil {
		return nil, &bench.ParamError{Name: "out", Err: err}
	}
	if err := ownFolder(ctx, results, m.name); err != nil {
		return nil, &bench.ParamError{Name: "out", Err: err}
	}
	rows, err := sweep.Run(ctx.Context(), sweep.Options{
		File: results, Identity: identity(ctx, m.name), Program: program, Resume: ctx.Resumes(), Strict: ctx.Strict(), Replace: true,
		Workers: ctx.Workers(), Progress: ctx.Progress, Warn: ctx.Warn, Begin: func() error { return m.removeTables(ctx.Folder()) },
	}, points, func(_ context.Context, p sweep.Point) (row Row, err error) {
		defer func() { // as of a bench of one machine
			if value := recover(); value != nil {
				err = torch.Recovered(value)
			}
		}()
		return run(p)
	})
	var refused *sweep.FileError
	switch {
	case errors.As(err, &refused):
		return nil, &bench.ParamError{Name: "out", Err: err}
	case err != nil:
		return nil, err
	}
	ctx.Artifact(results)
	return rows, nil
}

// removeTables removes the tables and the page of an earlier run.
func (m milestone) removeTables(folder string) error {
	for _, old := range append([]string{pageFile}, m.tables...) {
		if err := os.Remove(filepath.Join(folder, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// identity returns a text of all that the rows of a milestone depend on beside their point
// and the program.
func identity(ctx *torch.Context, name string) string {
	return fmt.Sprintf("%s, topology %s, ccl %s, values %v, races %v, flit %v", name,
		ctx.Topology().Spec().Hash(), ctx.CCL().Hash(), ctx.HasData(), ctx.LooksForRaces(), ctx.Flit())
}

// ownFolder refuses a folder that has the points of another bench.
func ownFolder(ctx *torch.Context, results, name string) error {
	first, err := firstLine(ctx.Context(), results)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, b := range bench.All() {
		if b.Folder != "" && b.Name != name && bytes.HasPrefix(first, fmt.Appendf(nil, `{"sweep":{"identity":"%s, `, b.Name)) {
			return fmt.Errorf("%s has the results of %s: choose another folder", ctx.Folder(), b.Name)
		}
	}
	return nil
}

// firstLine returns the start of a file.
func firstLine(ctx context.Context, name string) ([]byte, error) {
	r, err := file.Open(ctx, name, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	line := make([]byte, 256)
	n, err := io.ReadFull(r, line)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return line[:n], err
}

// pageFile is the name of the page of a milestone.
const pageFile = "report.html"

// flags is those that the rows of a milestone depend on, of a command line that gives the
// same again.
func flags(ctx *torch.Context) (text string) {
	if !ctx.HasData() {
		text += " --data=off"
	}
	if ctx.Flit() {
		text += " --fidelity=flit"
	}
	return text
}

// writeFile writes a file of a milestone to its folder.
func writeFile(ctx *torch.Context, name string, data []byte) error {
	path := filepath.Join(ctx.Folder(), name)
	if err := file.Write(path, data); err != nil {
		return err
	}
	ctx.Artifact(path)
	return nil
}

// writeTable writes a table as CSV.
func writeTable(ctx *torch.Context, name string, t *results.Table) error {
	var b bytes.Buffer
	if err := results.WriteCSV(&b, t); err != nil {
		return err
	}
	return writeFile(ctx, name, b.Bytes())
}

// writeFigure writes a figure as SVG and PNG, and is what a page has of it.
func writeFigure(ctx *torch.Context, name, caption string, f draw.Figure) (report.PageFigure, error) {
	svg, err := draw.SVG(f)
	if err != nil {
		return report.PageFigure{}, err
	}
	png, err := draw.PNG(f)
	if err != nil {
		return report.PageFigure{}, err
	}
	return report.PageFigure{Caption: caption, SVG: svg}, errors.Join(writeFile(ctx, name+".svg", svg), writeFile(ctx, name+".png", png))
}

// writePage writes the configuration, as the page says how to use it, and the page.
func writePage(ctx *torch.Context, p *report.Page) error {
	for _, c := range p.Config {
		if err := writeFile(ctx, c.Name, []byte(c.Text)); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		return err
	}
	return writeFile(ctx, pageFile, b.Bytes())
}

// nanoseconds is a time as tables have it, a number alone, and micros as figures do.
func nanoseconds(t torch.Time) string { return string(t.AppendIn(nil, sim.Nanosecond)) }
func micros(t torch.Time) float64     { return t.NS() / 1000 }
