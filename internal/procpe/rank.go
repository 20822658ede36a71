package procpe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// Options change how a rank runs kernels. The zero value is what most want.
type Options struct {
	Signals   int       // that a kernel has; DefaultSignals if 0, or half of the Window's
	TileBytes int64     // of tiles that exist at a time; DefaultTileBytes if 0
	Print     io.Writer // for what kernels print, each time in one Write; nil drops it
	// Window is where the signals are, Banks times as many; nil makes one for them.
	Window *comm.Window
	// Delay is called before operations that others can see or that wait for them. Tests
	// use it to shake the order.
	Delay func()
}

// Banks is how many sets of signals there are: launches use them by turns.
const Banks = 2

// What Options have by default. Tiles get eight times the TCM of the simulated machine.
const (
	DefaultSignals   = 64
	DefaultTileBytes = 16 << 20
)

// Rank is one rank that runs kernels, on one goroutine at a time.
type Rank struct {
	comm    *comm.Comm
	options Options
	world   []int // the rank in the world of each rank of the launch
	// Launches take turns with two banks of signals. Who notifies in a launch has passed
	// its barrier, and so has everybody ended the one before it: the bank of the last but
	// one is quiet when a launch begins, and its owner can clear it before the barrier.
	signals  *comm.Window
	launches int
}

// New makes a rank of a communicator run kernels. Every rank of it calls New, with as
// many signals.
func New(c *comm.Comm, o Options) (*Rank, error) {
	o.TileBytes = cmp.Or(o.TileBytes, DefaultTileBytes)
	if o.Window != nil {
		o.Signals = o.Window.Signals() / Banks
		return &Rank{comm: c, options: o, world: c.Ranks(), signals: o.Window}, nil
	}
	o.Signals = cmp.Or(o.Signals, DefaultSignals)
	w, err := c.AllocWindow(0, Banks*o.Signals)
	if err != nil {
		return nil, fmt.Errorf("signals of kernels: %w", err)
	}
	return &Rank{comm: c, options: o, world: c.Ranks(), signals: w}, nil
}

// Close gives signals back that were made for them.
func (r *Rank) Close() error {
	if r.options.Window != nil {
		return nil
	}
	return r.signals.Close()
}

// Launch runs a kernel, a function of a *tl.PE and arguments, once all ranks have
// launched it, and returns when it has ended here. A [Tensor] goes to a tl.Ptr
// parameter, a number to one of its kind. A kernel that fails is a *tl.Error, which
// others don't hear of: whether they should, by comm's Abort, is the caller's decision.
func (r *Rank) Launch(name string, kernel any, args ...any) error {
	bound, tensors, err := tl.Bind[Tensor](name, kernel, args)
	c := &core{Rank: r, kernel: name, tiles: tiles{limit: r.options.TileBytes}}
	ptrs := make([]tl.Ptr, len(tensors))
	for i := range tensors {
		if err == nil {
			ptrs[i], err = c.argument(&tensors[i])
		}
	}
	if err == nil {
		err = r.meet()
	}
	if err != nil {
		return fmt.Errorf("launch of %s on %s: %w", name, c.name(), err)
	}
	defer c.tiles.clear()
	return c.run(bound, ptrs)
}

// meet waits for the other ranks, with signals that are 0.
func (r *Rank) meet() error {
	if err := r.signals.Bank(r.launches % Banks * r.options.Signals); err != nil {
		return err
	}
	r.launches++
	for i := range r.options.Signals {
		zero, err := r.signals.TestSignal(i, tl.EQ, 0)
		if err == nil && !zero {
			err = r.signals.Notify(r.comm.Rank(), i, tl.Set, 0)
		}
		if err != nil {
			return err
		}
	}
	return r.comm.Barrier()
}

// run runs a kernel to its end.
func (c *core) run(b *tl.Binding, ptrs []tl.Ptr) (err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = c.failure(stopped)
		}
	}()
	c.began = time.Now()
	b.Call(tl.NewPE(c, c.kernel), ptrs...)
	return nil
}

// failure is the error of a kernel that panicked. It is called while the stack of the
// panic is there.
func (c *core) failure(stopped any) error {
	if e, ok := stopped.(*tl.Error); ok {
		said := *e
		said.Kernel, said.PE = c.kernel, c.name() // a pointer's misuse has neither
		return &said
	}
	err, ok := stopped.(error)
	if !ok {
		err = errors.New(fmt.Sprint(stopped))
	}
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: panicked(), Err: err}
}

// panicked is the line that the panic in progress comes from.
func panicked() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for inside := false; ; {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			inside = true
		}
		if inside && !strings.HasPrefix(f.Function, "runtime.") {
			return f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}
