// Package replay computes the values of a saved op log again and compares what the host
// then reads with what it read in the run.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/oplog"
)

// Result is the outcome of a replay. `kernbench replay --format json` prints it as JSON.
type Result struct {
	Version  string       `json:"version"` // version of the kernbench that replays the log
	File     string       `json:"file"`
	Recorded oplog.Header `json:"recorded"`
	OK       bool         `json:"ok"`
	Ops      int          `json:"operations"`
	Launches int          `json:"launches"`
	bench.Reads

	log        *oplog.Log
	mismatched []oplog.ID
}

// File reads the op log with the given name, computes its values with the given number of
// threads, and compares them with what the host read in the recorded run. If `threads` is
// 0, it uses all cores. It stops when ctx ends.
func File(ctx context.Context, name string, threads int) (*Result, error) {
	h, log, err := oplog.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	found, err := exec.Replay(ctx, log, cmp.Or(threads, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	return &Result{
		Version: version.Version, File: name, Recorded: h, OK: len(found.Mismatched) == 0,
		Ops: len(log.Ops), Launches: len(log.Launches), Reads: bench.ReadsOf(log),
		log: log, mismatched: found.Mismatched,
	}, nil
}

// WriteText writes the counts of operations and reads, and whether all reads are the same
// as in the run.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# op log: %s, recorded by kernbench %s, topology hash %s\n", r.File, r.Recorded.Tool, r.Recorded.Config)
	if b := r.Recorded.Notes["bench"]; b != "" {
		fmt.Fprintf(w, "# bench: %s\n", b)
	}
	verdict := "no values: the run computed none"
	switch {
	case !r.OK:
		verdict = "values DIFFER from those of the run"
	case r.Known > 0:
		verdict = "values ok: the same as in the run"
	}
	_, err := fmt.Fprintf(w, "\noperations: %d\nlaunches: %d\nhost reads: %d, of which %d compared\nbytes compared: %d\ndigest: %s\n%s\n",
		r.Ops, r.Launches, r.Reads.Reads, r.Known, r.Bytes, cmp.Or(r.Digest, "-"), verdict)
	return err
}

// shownMismatches is the greatest number of differing reads that are listed. The first one
// is the most useful.
const shownMismatches = 5

// Mistakes returns a message for each of the first shownMismatches reads of the host that
// differ from the run, and a message with the number of further ones.
func (r *Result) Mistakes() (all []string) {
	for _, id := range r.mismatched[:min(len(r.mismatched), shownMismatches)] {
		all = append(all, r.log.Describe(id)+" read other bytes than in the run")
	}
	if more := len(r.mismatched) - shownMismatches; more > 0 {
		all = append(all, fmt.Sprintf("and %d more host reads differ", more))
	}
	return all
}
