package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/scenario"
)

// launch runs all rounds on ranks that are processes or goroutines, and adds their reports
// and times to r.
func (j *job) launch(ctx context.Context, r *Result) error {
	release, err := host.Reserve(memoryBytes(j.plan) + launch.Overhead(j.Backend, j.plan.Ranks))
	if err != nil {
		return &InputError{fmt.Errorf("the buffers of %d ranks: %w: take fewer ranks, or smaller buffers", j.plan.Ranks, err)}
	}
	defer release()
	o := rankOrder{Source: j.plan.Source(), Text: j.plan.Text(), Choice: j.plan.Choice(), Seed: 1, Runtime: j.Runtime}
	if j.Seed != nil {
		o.Seed = *j.Seed
	}
	if j.Runtime != "" {
		if err := j.checkTasks(ctx, 0); err != nil {
			return err
		}
		o.Tasks = j.Tasks.YAML()
	}
	out := j.Print
	if out != nil {
		number, p, done := registerPrinter(out)
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
	how := launch.Options{Backend: j.Backend, Ranks: j.plan.Ranks, Output: out}
	if r.Binding = j.binding(); r.Binding != nil && len(r.Binding.Cores) > 0 {
		how.CPUs = r.Binding.Cores
	}
	results, err := launch.Run(ctx, how, jobName, arg)
	if err != nil {
		if failed, ok := errors.AsType[*launch.RankError](err); ok {
			return &RankError{failed.Rank, err}
		}
		return &RankError{-1, err}
	}
	for _, text := range results {
		var f rankResult
		if err := json.Unmarshal(text, &f); err != nil {
			return &RankError{-1, err}
		}
		r.add(f.Report)
		r.TimeNS = max(r.TimeNS, float64(f.Took.Nanoseconds()))
		if r.Staging != nil {
			*r.Staging = max(*r.Staging, float64(f.Staging.Nanoseconds()))
		}
	}
	return nil
}

// binding returns the cores that ranks are bound to. It returns nil if no devices were
// named. Ranks are bound only if they are processes and every device is the number of a
// core that this process may use. Other device numbers are also valid, because kernels use
// devices only as numbers.
func (j *job) binding() *Binding {
	if !j.plan.Bind {
		return nil
	}
	b := &Binding{Cores: []int{}, Allowed: append([]int{}, host.CPUs()...)}
	missing := func(device int) bool { return !slices.Contains(b.Allowed, device) }
	if j.Backend == SHM && !slices.ContainsFunc(j.plan.Devices, missing) {
		b.Cores = j.plan.Devices
	}
	return b
}

// checkMemory returns an error if the buffers of a simulation do not fit in the memory of
// this computer. A simulation holds the values twice: in the simulated memory and in the op
// log.
func checkMemory(pl *scenario.Plan) error {
	const times = 2
	if err := host.Check(host.Product(times, memoryBytes(pl))); err != nil {
		return &InputError{fmt.Errorf("the buffers of %d ranks: %w: take fewer ranks, or smaller buffers", pl.Ranks, err)}
	}
	return nil
}

// memoryBytes estimates the memory in bytes that the windows, buffers and values of all
// ranks take. In addition to its windows and buffers, a rank holds the values of one
// buffer. It also holds those of the previous buffer until the garbage collector frees
// them.
func memoryBytes(pl *scenario.Plan) (n uint64) {
	for _, w := range pl.Windows {
		ranks := pl.Ranks
		if w.Domain != nil {
			ranks = len(w.Domain.Ranks)
		}
		n += host.Product(int64(ranks), w.Bytes)
	}
	for rank := range pl.Ranks {
		var values uint64
		for _, b := range pl.Buffers {
			if !b.On(rank) {
				continue
			}
			if b.Window < 0 || b.Staged {
				n += uint64(b.Bytes())
			}
			values = max(values, pl.ValueBytes(b))
		}
		n += 2 * values
	}
	return n
}

// printer serializes the output of the ranks of a run. Ranks that are goroutines find it by
// its number. A rank that is a process has no printer: it writes to stderr, and the
// launcher forwards the text.
type printer struct {
	sync.Mutex
	to io.Writer
}

func (p *printer) Write(text []byte) (int, error) {
	p.Lock()
	defer p.Unlock()
	return p.to.Write(text)
}

var (
	printers    sync.Map // number to *printer
	lastPrinter atomic.Int64
)

// registerPrinter adds a printer that writes to the writer `to`. It returns the number of
// the printer, the printer, and a function that removes the printer.
func registerPrinter(to io.Writer) (number int64, p *printer, done func()) {
	number, p = lastPrinter.Add(1), &printer{to: to}
	printers.Store(number, p)
	return number, p, func() { printers.Delete(number) }
}

// findPrinter returns the printer with the given number. The process of a rank has no
// printers; there findPrinter returns stderr.
func findPrinter(number int64) io.Writer {
	if p, ok := printers.Load(number); ok {
		return p.(*printer)
	}
	return os.Stderr
}
