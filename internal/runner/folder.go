package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kernbench/kernbench/internal/npy"
	"github.com/kernbench/kernbench/scenario"
)

// The files of a folder, beside those of values.
const (
	scenarioFile = "scenario.yaml"
	choiceFile   = "run.json"
)

// prepared is what Prepare has settled: choiceFile.
type prepared struct {
	Scenario string `json:"scenario"`
	scenario.Choice
}

// folder has the values of a run in files.
type folder struct {
	ctx context.Context // of the run: when it ends nothing is read or written any more
	dir string
}

// round is the folder of a round.
func (f folder) round(round int) string { return filepath.Join(f.dir, fmt.Sprintf("round%d", round)) }

// path is the file of a buffer's values; kind is in, out or golden.
func (f folder) path(b *scenario.Buffer, rank, round int, kind string) string {
	return filepath.Join(f.round(round), fmt.Sprintf("rank%d", rank), b.Name+"."+kind+".npy")
}

// input reads an input.
func (f folder) input(b *scenario.Buffer, rank, round int) ([]byte, error) {
	return f.read(b, rank, round, "in")
}

// output writes an output.
func (f folder) output(o *scenario.Output, rank, round int, got []byte) error {
	return f.write(o.Buffer, rank, round, "out", got)
}

func (f folder) read(b *scenario.Buffer, rank, round int, kind string) ([]byte, error) {
	name := f.path(b, rank, round, kind)
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := npy.Read(&partly{f.ctx, file})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) || a.DType != b.DType {
		return nil, fmt.Errorf("%s has %v %v, and %s is %v %v: prepare the folder again", name, a.Shape, a.DType, b.Name, b.Shape, b.DType)
	}
	return a.Bytes, nil
}

// write leaves all of the values in the file, or no file.
func (f folder) write(b *scenario.Buffer, rank, round int, kind string, values []byte) error {
	name := f.path(b, rank, round, kind)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	err = errors.Join(npy.Write(&partly{f.ctx, file}, &npy.Array{Shape: b.Shape, DType: b.DType, Bytes: values}), file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Join(err, os.Remove(name)))
	}
	return nil
}

// partly is a file that is read and written in parts, until a context ends.
type partly struct {
	ctx  context.Context
	file *os.File
}

const partBytes = 1 << 20

func (p *partly) Read(to []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.file.Read(to[:min(len(to), partBytes)])
}

func (p *partly) Write(from []byte) (n int, err error) {
	for err == nil && n < len(from) {
		if p.ctx.Err() != nil {
			return n, context.Cause(p.ctx)
		}
		var wrote int
		wrote, err = p.file.Write(from[n:min(len(from), n+partBytes)])
		n += wrote
	}
	return n, err
}

// each calls do for every output of a plan, at every rank in every round, up to the
// first error.
func (f folder) each(plan *scenario.Plan, do func(o *scenario.Output, rank, round int) error) error {
	for round := range plan.Rounds {
		for rank := range plan.Ranks {
			for _, o := range plan.Outputs {
				if !o.On(rank) {
					continue
				}
				if f.ctx.Err() != nil {
					return context.Cause(f.ctx)
				}
				if err := do(o, rank, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// open is the plan of a folder that was prepared.
func (f folder) open() (*scenario.Plan, error) {
	text, err := os.ReadFile(filepath.Join(f.dir, choiceFile))
	if err != nil {
		return nil, fmt.Errorf("%s was not prepared: %w", f.dir, err)
	}
	var p prepared
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(f.dir, choiceFile), err)
	}
	s, err := scenario.Load(filepath.Join(f.dir, scenarioFile))
	if err != nil {
		return nil, err
	}
	plan, err := s.PlanContext(f.ctx, p.Choice)
	if err == nil {
		plan.Name = p.Scenario
	}
	return plan, err
}

// removeOutputs makes the folder one that has not run.
func (f folder) removeOutputs(plan *scenario.Plan) error {
	return f.each(plan, func(o *scenario.Output, rank, round int) error {
		err := os.Remove(f.path(o.Buffer, rank, round, "out"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}
