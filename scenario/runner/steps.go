package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/scenario"
)

// Prepare writes the inputs and golden values of a run to a folder, which is new or
// empty. If it cannot, what it has written is removed.
func Prepare(ctx context.Context, o Options, dir string) error {
	ctx, cancel := o.limit(ctx)
	defer cancel()
	_, err := o.prepare(ctx, dir)
	return err
}

// prepare is Prepare, and how to remove what it has written.
func (o *Options) prepare(ctx context.Context, dir string) (undo func() error, err error) {
	plan, err := o.settle(ctx)
	if err != nil {
		return nil, refused(ctx, err)
	}
	if n := numFiles(plan); n > mostFiles {
		return nil, &InputError{fmt.Errorf("preparing %s: %d files are too many, there may be %d: take fewer rounds or ranks", dir, n, mostFiles)}
	}
	there, err := os.ReadDir(dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err == nil && len(there) > 0 {
		err = errors.New("the folder is not empty: name a new one")
	}
	if err != nil && !isNew {
		return nil, &InputError{fmt.Errorf("preparing %s: %w", dir, err)}
	}
	f := folder{ctx, dir}
	undo = func() error { return f.remove(plan, isNew) }
	if err := f.prepare(plan); err != nil {
		return nil, refused(ctx, fmt.Errorf("preparing %s: %w", dir, errors.Join(err, undo())))
	}
	return undo, nil
}

// mostFiles bounds the files of a folder.
const mostFiles = 1_000_000

// numFiles returns how many files of values a run has: inputs, outputs and golden values of
// every rank in every round.
func numFiles(plan *scenario.Plan) (n int) {
	for rank := range plan.Ranks {
		for _, b := range plan.Inputs() {
			if b.On(rank) {
				n++
			}
		}
		for _, o := range plan.Outputs {
			if o.On(rank) {
				n += 2
			}
		}
	}
	return n * plan.Rounds
}

func (f folder) prepare(plan *scenario.Plan) error {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return err
	}
	err := each(f.ctx, plan, plan.Inputs(), func(b *scenario.Buffer, rank, round int) error {
		values, err := plan.Input(b, rank, round)
		if err != nil {
			return err
		}
		return f.write(b, rank, round, "in", values)
	})
	if err != nil {
		return err
	}
	err = each(f.ctx, plan, plan.Outputs, func(o *scenario.Output, rank, round int) error {
		values, err := plan.Golden(o, rank, round)
		if err != nil {
			return err
		}
		return f.write(o.Buffer, rank, round, "golden", values)
	})
	if err != nil {
		return err
	}
	settled, err := json.MarshalIndent(prepared{plan.Name, plan.Choice()}, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		file.Write(filepath.Join(f.dir, scenarioFile), plan.Text()),
		file.Write(filepath.Join(f.dir, choiceFile), append(settled, '\n')))
}

// remove undoes prepare in a folder that was empty, or was not there. A folder with
// outputs stays as it is.
func (f folder) remove(plan *scenario.Plan, all bool) error {
	outputs, err := fs.Glob(os.DirFS(f.dir), "round*/rank*/*.out.npy")
	if err != nil || len(outputs) > 0 {
		return err
	}
	var errs []error
	for round := range plan.Rounds {
		errs = append(errs, os.RemoveAll(f.round(round)))
	}
	names := []string{filepath.Join(f.dir, scenarioFile), filepath.Join(f.dir, choiceFile)}
	if all {
		names = append(names, f.dir)
	}
	for _, name := range names {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Execute runs what was prepared in a folder, and writes its outputs there. Those of an
// earlier run are removed first. Of the options, the scenario and its choices are those
// it was prepared with. Nothing is compared.
func Execute(ctx context.Context, dir string, o Options) (*Result, error) {
	ctx, cancel := o.limit(ctx)
	defer cancel()
	return o.execute(ctx, dir)
}

func (o *Options) execute(ctx context.Context, dir string) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, &InputError{err}
	}
	f := folder{ctx, dir}
	plan, err := f.open()
	if err == nil {
		err = f.removeOutputs(plan)
	}
	if err == nil {
		err = f.checkInputs(plan)
	}
	if err != nil {
		return nil, refused(ctx, err)
	}
	return (&job{o, plan, f}).run(ctx)
}

// Verify compares the outputs in a folder with the golden values there.
func Verify(ctx context.Context, dir string) (*Result, error) {
	f := folder{ctx, dir}
	plan, err := f.open()
	if err != nil {
		return nil, refused(ctx, err)
	}
	r := newResult(plan)
	err = each(ctx, plan, plan.Outputs, func(o *scenario.Output, rank, round int) error {
		got, err := f.read(o.Buffer, rank, round, "out")
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("no output yet, run the folder first: %w", err)
		}
		want, wrong := f.read(o.Buffer, rank, round, "golden")
		if err := errors.Join(err, wrong); err != nil {
			return err
		}
		return r.compare(ctx, o, rank, round, got, want)
	})
	if err != nil {
		return nil, refused(ctx, err)
	}
	r.OK = r.settle()
	return r, nil
}

// keep is a run with files. If it fails before there are outputs the folder is as it was
// before, so that the same command can be given again.
func (o *Options) keep(ctx context.Context) (*Result, error) {
	undo, err := o.prepare(ctx, o.Keep)
	if err != nil {
		return nil, err
	}
	ran, err := o.execute(ctx, o.Keep)
	if err != nil {
		return nil, errors.Join(err, undo())
	}
	found, err := Verify(ctx, o.Keep)
	if err != nil {
		return nil, err
	}
	ran.Report, ran.OK = found.Report, found.OK && len(ran.Races) == 0
	return ran, nil
}
