package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/table"
)

// sweepRow is what is kept of a point.
type sweepRow struct {
	OK       bool            `json:"ok"`
	Crit     json.Number     `json:"crit_ns"`
	Metrics  json.RawMessage `json:"metrics"`
	Rows     json.RawMessage `json:"rows"`
	Wrong    []string        `json:"wrong,omitempty"` // values and races
	Topology string          `json:"topology_hash"`
	CCL      string          `json:"ccl_hash,omitempty"`
	Tasks    string          `json:"tasks_hash,omitempty"`
}

// run runs a point.
func (p *sweepPlan) run(ctx context.Context, point experiment.Point) (row sweepRow, err error) {
	o, err := p.options(ctx, p.setup(point))
	if err != nil {
		return row, err
	}
	r, err := p.bench.Execute(ctx, o)
	if err != nil {
		return row, err
	}
	return newSweepRow(r)
}

// newSweepRow is the parts of the JSON of a result that a row has, as they are there.
func newSweepRow(r *bench.Result) (row sweepRow, err error) {
	var text bytes.Buffer
	if err := table.WriteJSON(&text, r); err != nil {
		return row, err
	}
	if err := json.Unmarshal(text.Bytes(), &row); err != nil {
		return row, err
	}
	row.Wrong = append(r.Wrong(), r.Races...)
	row.Topology = r.Config.Topology.Hash
	if r.Config.CCL != nil {
		row.CCL = r.Config.CCL.Hash
	}
	if r.Config.Tasks != nil {
		row.Tasks = r.Config.Tasks.Hash
	}
	return row, nil
}

// sweepPoint is an element of points in `kernbench sweep --format json`.
type sweepPoint struct {
	Point    int              `json:"point"`
	Settings experiment.Point `json:"settings"`
	Row      sweepRow         `json:"row"`
}

// sweepResult is the JSON of kernbench sweep.
type sweepResult struct {
	Sweep  string       `json:"sweep"`
	Bench  string       `json:"bench"`
	File   string       `json:"file"`
	OK     bool         `json:"ok"`
	Total  int          `json:"total"`
	Points []sweepPoint `json:"points"`
}

// finishSweep prints what came of a sweep, and is how it ends.
func finishSweep(cmd *cobra.Command, p *sweepPlan, o experiment.Options, format string, rows []sweepRow, err error) error {
	if err := endPoints(cmd.ErrOrStderr(), o, err); err != nil {
		return err
	}
	var failed *experiment.Failed
	errors.As(err, &failed)
	r := sweepResult{Sweep: p.Name, Bench: p.Bench, File: o.File, OK: failed == nil, Total: len(rows), Points: []sweepPoint{}}
	without := map[int]bool{}
	var wrong []error
	if failed != nil {
		for _, f := range failed.Points {
			without[f.Index] = true
		}
	}
	for i, index := range o.Shard.Indices(len(p.points)) {
		row := rows[i]
		if without[index] {
			continue
		}
		r.OK = r.OK && row.OK
		r.Points = append(r.Points, sweepPoint{index, p.points[index], row})
		for _, text := range row.Wrong {
			wrong = append(wrong, fmt.Errorf("point %d (%v): %s", index, p.points[index], text))
		}
	}
	if err := p.write(cmd.Context(), cmd.OutOrStdout(), r, o, format); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failedPoints(o, failed, wrong...)
	case !r.OK:
		return &exitError{exitWrong, errors.Join(few(wrong)...)}
	}
	return nil
}
