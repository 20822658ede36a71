package benches

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/chart"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/sweep"
	"github.com/kernbench/kernbench/torch"
)

// A milestone is a bench that runs sweeps, each point on a machine of its own, and
// writes tables, figures and a page to its folder. What all milestones need is here.

// runPoints runs the points of a milestone side by side, or takes over those that the
// folder has of an earlier run with the same numbers.
func runPoints[Row any](ctx *torch.Context, points []sweep.Point, run func(sweep.Point) (Row, error)) ([]Row, error) {
	file := filepath.Join(ctx.Folder(), "points.jsonl")
	rows, err := sweep.Run(ctx.Context(), sweep.Options{
		File: file, Identity: identity(ctx), Resume: ctx.Resumes(), Workers: ctx.Workers(), Progress: ctx.Progress,
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
	ctx.Artifact(file)
	return rows, nil
}

// identity is of all that the rows of a milestone depend on beside their point.
func identity(ctx *torch.Context) string {
	return fmt.Sprintf("kernbench %s, topology %s, ccl %s, values %v, races %v, flit %v",
		report.Version, ctx.Topology().Spec().Hash(), ctx.CCL().Hash(), ctx.HasData(), ctx.LooksForRaces(), ctx.Flit())
}

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
	file := filepath.Join(ctx.Folder(), name)
	if err := report.WriteFile(file, data); err != nil {
		return err
	}
	ctx.Artifact(file)
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
func writeFigure(ctx *torch.Context, name, caption string, f chart.Figure) (report.PageFigure, error) {
	svg, err := chart.SVG(f)
	if err != nil {
		return report.PageFigure{}, err
	}
	png, err := chart.PNG(f)
	if err != nil {
		return report.PageFigure{}, err
	}
	return report.PageFigure{Caption: caption, SVG: svg}, errors.Join(writeFile(ctx, name+".svg", svg), writeFile(ctx, name+".png", png))
}

// writePage writes report.html.
func writePage(ctx *torch.Context, p *report.Page) error {
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		return err
	}
	return writeFile(ctx, "report.html", b.Bytes())
}

// nanoseconds is a time as tables have it, a number alone, and micros as figures do.
func nanoseconds(t torch.Time) string { return string(t.AppendIn(nil, sim.Nanosecond)) }
func micros(t torch.Time) float64     { return t.NS() / 1000 }
