package runner

import (
	"bytes"
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
	dir string
}

// path is the file of a buffer's values; kind is in, out or golden.
func (f folder) path(b *scenario.Buffer, rank, round int, kind string) string {
	return filepath.Join(f.dir, fmt.Sprintf("round%d", round), fmt.Sprintf("rank%d", rank), b.Name+"."+kind+".npy")
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
	a, err := npy.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) || a.DType != b.DType {
		return nil, fmt.Errorf("%s has %v %v, and %s is %v %v: prepare the folder again", name, a.Shape, a.DType, b.Name, b.Shape, b.DType)
	}
	return a.Bytes, nil
}

func (f folder) write(b *scenario.Buffer, rank, round int, kind string, values []byte) error {
	name := f.path(b, rank, round, kind)
	var data bytes.Buffer
	if err := npy.Write(&data, &npy.Array{Shape: b.Shape, DType: b.DType, Bytes: values}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data.Bytes(), 0o666)
}

// Prepare writes the inputs and golden values of a run to a folder, which is new or
// empty.
func Prepare(o Options, dir string) error {
	plan, err := o.settle()
	if err != nil {
		return &InputError{err}
	}
	if err := o.prepare(plan, dir); err != nil {
		return &InputError{fmt.Errorf("preparing %s: %w", dir, err)}
	}
	return nil
}

func (o *Options) prepare(plan *scenario.Plan, dir string) error {
	there, err := os.ReadDir(dir)
	switch {
	case err == nil && len(there) > 0:
		return errors.New("the folder is not empty: name a new one")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f := folder{dir}
	for round := range plan.Rounds {
		for rank := range plan.Ranks {
			for _, b := range plan.Buffers {
				if !b.On(rank) || !plan.HasInput(b) {
					continue
				}
				values, err := plan.Input(b, rank, round)
				if err == nil {
					err = f.write(b, rank, round, "in", values)
				}
				if err != nil {
					return err
				}
			}
			for _, out := range plan.Outputs {
				if !out.On(rank) {
					continue
				}
				values, err := plan.Golden(out, rank, round)
				if err == nil {
					err = f.write(out.Buffer, rank, round, "golden", values)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	settled, err := json.MarshalIndent(prepared{plan.Name, plan.Choice()}, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, scenarioFile), plan.Text(), 0o666),
		os.WriteFile(filepath.Join(dir, choiceFile), append(settled, '\n'), 0o666))
}

// open is the plan of a folder that was prepared.
func open(dir string) (*scenario.Plan, error) {
	text, err := os.ReadFile(filepath.Join(dir, choiceFile))
	if err != nil {
		return nil, fmt.Errorf("%s was not prepared: %w", dir, err)
	}
	var p prepared
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, choiceFile), err)
	}
	s, err := scenario.Load(filepath.Join(dir, scenarioFile))
	if err != nil {
		return nil, err
	}
	plan, err := s.Plan(p.Choice)
	if err == nil {
		plan.Name = p.Scenario
	}
	return plan, err
}

// Execute runs what was prepared in a folder, and writes its outputs there. Of the
// options, the scenario and its choices are those it was prepared with. Nothing is
// compared.
func Execute(ctx context.Context, dir string, o Options) (*Result, error) {
	err := o.check()
	var plan *scenario.Plan
	if err == nil {
		plan, err = open(dir)
	}
	if err != nil {
		return nil, &InputError{err}
	}
	return (&job{&o, plan, folder{dir}}).run(ctx)
}

// Verify compares the outputs in a folder with the golden values there.
func Verify(dir string) (*Result, error) {
	plan, err := open(dir)
	if err != nil {
		return nil, &InputError{err}
	}
	r := &Result{Scenario: plan.Name, NRanks: plan.Ranks, Root: rootOf(plan), Rounds: plan.Rounds, Devices: plan.Devices, Params: plan.Params()}
	f := folder{dir}
	for round := range plan.Rounds {
		for rank := range plan.Ranks {
			for _, o := range plan.Outputs {
				if !o.On(rank) {
					continue
				}
				got, err := f.read(o.Buffer, rank, round, "out")
				if errors.Is(err, fs.ErrNotExist) {
					err = fmt.Errorf("no output yet, run the folder first: %w", err)
				}
				want, wrong := f.read(o.Buffer, rank, round, "golden")
				if err := errors.Join(err, wrong); err != nil {
					return nil, &InputError{err}
				}
				r.compare(o, rank, round, got, want)
			}
		}
	}
	r.OK = r.settle()
	return r, nil
}
