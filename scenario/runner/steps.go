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

// Prepare writes the inputs and golden values of a run to the folder dir, which must be new
// or empty. If it fails, it removes the files that it has written.
func Prepare(ctx context.Context, o Options, dir string) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	_, err := o.prepare(ctx, dir)
	return err
}

// prepare does the work of Prepare. undo removes the prepared files again.
func (o *Options) prepare(ctx context.Context, dir string) (undo func() error, err error) {
	plan, err := o.loadPlan(ctx)
	if err != nil {
		return nil, inputError(ctx, err)
	}
	if n := numFiles(plan); n > maxFiles {
		return nil, &InputError{fmt.Errorf("preparing %s: %d files are too many, there may be %d: take fewer rounds or ranks", dir, n, maxFiles)}
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
	undo = func() error { return f.removePrepared(plan, isNew) }
	if err := f.prepare(plan); err != nil {
		return nil, inputError(ctx, fmt.Errorf("preparing %s: %w", dir, errors.Join(err, undo())))
	}
	return undo, nil
}

// maxFiles is the largest number of files in a folder.
const maxFiles = 1_000_000

// numFiles returns the number of .npy files of a run: the inputs, outputs and golden values
// of all ranks in all rounds.
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

// prepare writes the inputs, the golden values, the scenario and the choice of the plan to
// the folder.
func (f folder) prepare(plan *scenario.Plan) error {
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		return err
	}
	err := forEach(f.ctx, plan, plan.Inputs(), func(b *scenario.Buffer, rank, round int) error {
		values, err := plan.Input(b, rank, round)
		if err != nil {
			return err
		}
		return f.write(b, rank, round, "in", values)
	})
	if err != nil {
		return err
	}
	err = forEach(f.ctx, plan, plan.Outputs, func(o *scenario.Output, rank, round int) error {
		values, err := plan.Golden(o, rank, round)
		if err != nil {
			return err
		}
		return f.write(o.Buffer, rank, round, "golden", values)
	})
	if err != nil {
		return err
	}
	settled, err := json.MarshalIndent(preparedRun{plan.Name, plan.Choice()}, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		file.Write(filepath.Join(f.dir, scenarioFile), plan.Text()),
		file.Write(filepath.Join(f.dir, choiceFile), append(settled, '\n')))
}

// removePrepared removes the files that prepare has written. If `all` is set, it also
// removes the folder. It does nothing if the folder has outputs.
func (f folder) removePrepared(plan *scenario.Plan, all bool) error {
	outputs, err := fs.Glob(os.DirFS(f.dir), "round*/rank*/*.out.npy")
	if err != nil || len(outputs) > 0 {
		return err
	}
	var errs []error
	for round := range plan.Rounds {
		errs = append(errs, os.RemoveAll(f.roundDir(round)))
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

// Execute runs the scenario in a prepared folder and writes the outputs to the folder. It
// first removes the outputs of an earlier run. It uses the scenario and the choice of the
// folder, not those of the options. It compares nothing.
func Execute(ctx context.Context, dir string, o Options) (*Result, error) {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	return o.execute(ctx, dir)
}

// execute does the work of Execute, with a context that includes the timeout.
func (o *Options) execute(ctx context.Context, dir string) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, &InputError{err}
	}
	f := folder{ctx, dir}
	plan, err := f.loadPlan()
	if err == nil {
		err = f.removeOutputs(plan)
	}
	if err == nil {
		err = f.checkInputs(plan)
	}
	if err != nil {
		return nil, inputError(ctx, err)
	}
	return (&job{o, plan, f}).run(ctx)
}

// Verify compares the outputs in a folder with the golden values in the folder.
func Verify(ctx context.Context, dir string) (*Result, error) {
	f := folder{ctx, dir}
	plan, err := f.loadPlan()
	if err != nil {
		return nil, inputError(ctx, err)
	}
	r := newResult(plan)
	err = forEach(ctx, plan, plan.Outputs, func(o *scenario.Output, rank, round int) error {
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
		return nil, inputError(ctx, err)
	}
	r.OK = r.finish()
	return r, nil
}

// runWithFiles prepares, executes and verifies a run in the folder Keep. If the run fails
// before it has written outputs, runWithFiles removes the prepared files, so that the same
// command can be repeated.
func (o *Options) runWithFiles(ctx context.Context) (*Result, error) {
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
