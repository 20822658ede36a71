package runner

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/kernbench/kernbench/comm/launch"
)

// launch runs the rounds on a backend of package comm.
func (j *job) launch(ctx context.Context, r *Result) error {
	o := order{Source: j.plan.Source(), Text: j.plan.Text(), Choice: j.plan.Choice(), Seed: j.Seed}
	out := j.Print
	if out != nil {
		number, p, done := show(out)
		defer done()
		o.Print, out = number, p
	}
	if f, ok := j.values.(folder); ok {
		dir, err := filepath.Abs(f.dir)
		if err != nil {
			return &InputError{err}
		}
		o.Folder = dir
	}
	arg, err := json.Marshal(o)
	if err != nil {
		return &InputError{err}
	}
	results, err := launch.Run(ctx, launch.Options{Backend: j.Backend, Ranks: j.plan.Ranks, Output: out}, jobName, arg)
	if err != nil {
		var failed *launch.RankError
		if errors.As(err, &failed) {
			return &RankError{failed.Rank, err}
		}
		return &RankError{-1, err}
	}
	for _, text := range results {
		var f found
		if err := json.Unmarshal(text, &f); err != nil {
			return &RankError{-1, err}
		}
		r.add(f.Report)
		r.TimeNS = max(r.TimeNS, float64(f.Took.Nanoseconds()))
	}
	return nil
}
