package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Options choose the machine that a bench runs on and which records of the run to keep.
type Options struct {
	torch.Options
	Params map[string]string // values of parameters; missing parameters have their defaults
	Log    string            // file to write the op log to; "" writes none

	// The following options are for benches with a Folder only. Folder replaces the bench's
	// Folder. Resume keeps the results that are already in the folder. If another build of
	// the program wrote these results, Warn is called; if Strict is set, the run fails
	// instead. Progress is called at the start and whenever a point has ended: done of
	// total points have a row, and left is the estimated time until the last point ends,
	// negative if unknown.
	Folder   string
	Resume   bool
	Strict   bool
	Warn     func(text string) // also called for old spellings of parameters, by all benches
	Progress func(done, total int, left time.Duration)
}

// Execute runs the bench on a new machine. Wrong values are reported in the result. An
// error means that an option is invalid or that the run failed: a kernel was misused,
// panicked or never ended, or ctx ended.
func (b Bench) Execute(ctx context.Context, o Options) (*Result, error) {
	o.KeepLog = o.KeepLog || o.Log != ""
	var err error
	if o.Params, err = b.params(o.reportRenamed(ctx), o.Params, o.CCL); err != nil {
		return nil, err
	}
	if err := b.chooseFolder(&o); err != nil {
		return nil, err
	}
	if b.Experiment != nil {
		return b.experiment(ctx, o)
	}
	c, err := torch.New(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	r := b.newResult(c.Topology(), o)
	err = guard(func() error { return (&B{Rank: c.Main(), report: report{o, &b, r}}).runPart(b.Run) })
	if !errors.As(err, new(*torch.Stalled)) { // a machine in an endless loop cannot be closed
		defer c.Close()
	}
	if err != nil {
		return nil, errors.Join(explain(err, c.Err()), hosted.DropTrace(c))
	}
	r.OK = r.Checks.OK() && len(r.Races) == 0
	if o.Log != "" {
		err = r.save(c, o.Log)
	}
	if err == nil && o.Trace != "" {
		err = hosted.SaveTrace(c, trace.About{Version: version.Version, Program: b.Name})
		r.Artifacts = append(r.Artifacts, o.Trace)
	}
	return r, err
}

// reportRenamed returns a context that reports old spellings of names by calling Warn. It
// returns ctx unchanged if Warn is nil, or if ctx already has a function for these reports.
func (o Options) reportRenamed(ctx context.Context) context.Context {
	if o.Warn == nil || config.ReportsRenamed(ctx) {
		return ctx
	}
	return config.WithRenamed(ctx, func(old, name string) { o.Warn(old + " is now called " + name) })
}

// CostOf returns the value of b.Cost for a run with options o. It returns 1 if the bench
// has no Cost or a parameter is wrong.
func (b Bench) CostOf(o Options) float64 {
	params, err := b.params(context.Background(), o.Params, o.CCL)
	if b.Cost == nil || err != nil {
		return 1
	}
	return b.Cost(params, o.Topology)
}

// chooseFolder sets o.Folder to the folder that the bench writes its files to. It returns
// an error for options that do not fit the bench.
func (b Bench) chooseFolder(o *Options) error {
	many := "bench %s runs many machines, and this works with one: choose a bench of one machine, or kernbench coll"
	switch {
	case b.Folder != "" && o.Log != "":
		return &ParamError{"log", fmt.Errorf(many, b.Name)}
	case b.Folder != "" && o.Trace != "":
		return &ParamError{"trace", fmt.Errorf(many, b.Name)}
	case b.Folder != "" && o.PerRank:
		return &ParamError{"per-rank", fmt.Errorf(many, b.Name)}
	case b.Folder != "":
		o.Folder = cmp.Or(o.Folder, b.Folder)
	case o.Folder != "":
		return &ParamError{"out", fmt.Errorf("bench %s writes no files", b.Name)}
	case o.Resume:
		return &ParamError{"resume", fmt.Errorf("bench %s keeps no results to resume", b.Name)}
	}
	return nil
}

// guard calls a function and returns its error. It turns panics, also those of [torch.Must]
// and [torch.OK], into errors.
func guard(call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = torch.Recovered(value)
		}
	}()
	return call()
}

// newResult returns the result of a run that has not begun: the configuration, without rows
// or times.
func (b Bench) newResult(g *topology.Graph, o Options) *Result {
	s := b.Schema()
	r := &Result{
		Bench: b.Name, Rows: &table.Table{Columns: s["rows"]}, Artifacts: []string{}, Schema: s,
		Config: Config{
			Version: version.Version, Topology: topology.OriginOf(g.Spec()), Params: o.Params,
			Fidelity: map[bool]string{true: "flit", false: "train"}[o.Flit],
			Data:     map[bool]string{true: "off", false: "on"}[o.NoData],
			Check:    map[bool]string{true: "race", false: "none"}[o.Race],
		},
	}
	if o.PerRank {
		s["launches"] = table.ColumnsOf(torch.RankTimes{})
	}
	return r
}

// explain returns the error to show to the author of the bench. err is the error of a run,
// and `ended` is the error that stopped its machine, or nil. A panic becomes one line with
// its place in the author's code. The stack is kept only if kernbench's own code panicked.
func explain(err, ended error) error {
	var inKernel *sim.PanicError
	var wrong *tl.Error
	var inHost *torch.HostPanic
	switch {
	case errors.As(ended, &inKernel):
		if errors.As(ended, &wrong) {
			return wrong // includes the place
		}
		return inKernel
	case errors.As(err, new(*torch.SpawnError)):
		return err
	case errors.As(err, &inHost):
		if errors.As(err, &wrong) {
			return wrong
		}
		return fmt.Errorf("the bench: %w", inHost)
	}
	return err
}

// Reads counts what the host read in a run. Its JSON is part of what `kernbench replay
// --format json` prints.
type Reads struct {
	Reads  int    `json:"host_reads"`
	Known  int    `json:"reads_compared"` // reads with a digest in the op log
	Bytes  int64  `json:"bytes_compared"` // bytes of the reads with a digest
	Digest string `json:"digest"`         // hash of the digests, in order; "" if there are none
}

// ReadsOf counts the host's reads in an op log. Reads.Digest is the 64-bit FNV-1a hash of
// the digests of all reads that have one.
func ReadsOf(log *oplog.Log) (r Reads) {
	sum := fnv.New64a()
	for i := range log.Ops {
		op := &log.Ops[i]
		if op.Kind != oplog.HostRead {
			continue
		}
		r.Reads++
		if op.Digest == 0 {
			continue
		}
		r.Known++
		for _, a := range op.Mem {
			r.Bytes += a.Bytes()
		}
		sum.Write(binary.BigEndian.AppendUint64(nil, op.Digest)) // a hash never returns an error
	}
	if r.Known > 0 {
		r.Digest = fmt.Sprintf("%016x", sum.Sum64())
	}
	return r
}

// save writes the op log of a run to a file and records the file name and a summary of the
// log in the result.
func (r *Result) save(c *torch.Context, name string) error {
	out, err := file.Create(name)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	h := oplog.Header{Tool: r.Config.Version, Config: r.Config.Topology.Hash, Notes: map[string]string{"bench": r.Bench}}
	if err = oplog.Encode(buffered, h, c.Log()); err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	r.Artifacts = append(r.Artifacts, name)
	reads := ReadsOf(c.Log())
	r.logSummary = fmt.Sprintf("%s, %s", printable.Count(len(c.Log().Ops), "operation"), printable.Count(reads.Reads, "host read"))
	if reads.Digest != "" {
		r.logSummary += ", digest " + reads.Digest
	}
	return nil
}
