package cli

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/printable"
)

// The words of --on.
const (
	onSim    = string(collperf.Sim)
	onShm    = string(collperf.Processes)
	onInproc = string(collperf.Goroutines)
)

// Where the buffers of real ranks are.
const private, window = "private", "window"

var realBuffers = []string{private, window}

// realIters is how many iterations real ranks do unless told otherwise: their times vary.
const realIters = 20

// notKept is why the rows of real ranks have no file.
const notKept = "times are measured anew in every run, and not kept: print them with --format csv or json"

// simulatedOnly are the flags that mean nothing to real ranks, and what does instead.
var simulatedOnly = []struct{ flag, instead string }{
	{"topology", ""}, {"ccl", ""}, {"set", ""}, {"partial", ""}, {"ranks-per", ""}, {"fidelity", ""}, {"threads", ""}, {"trace", ""},
	{"world", "--nranks says how many there are"}, {"data", "--check 0 compares no values"},
	{"out", notKept}, {"resume", notKept}, {"replace", notKept}, {"strict", notKept}, {"shard", notKept},
}

// collUses are the flags that not every collective uses.
var collUses = []struct {
	flags []string
	by    func(ccl.Collective) bool
	why   string // a collective has no use for them
}{
	{[]string{"minbytes", "maxbytes", "stepfactor", "stepbytes", "datatype", "check", "values", "data"}, func(c ccl.Collective) bool { return c != ccl.Barrier }, "moves no data"},
	{[]string{"op"}, ccl.Collective.Reduces, "reduces nothing"},
	{[]string{"root"}, ccl.Collective.Rooted, "has no root"},
}

// unused refuses flags that a collective does not use.
func (f *collFlags) unused(c ccl.Collective) error {
	for _, use := range collUses {
		if use.by(c) {
			continue
		}
		for _, flag := range use.flags {
			if !f.cmd.Flags().Changed(flag) {
				continue
			}
			var others []string
			for _, other := range ccl.Collectives() {
				if use.by(other) {
					others = append(others, other.String())
				}
			}
			return fmt.Errorf("--%s has no effect: %v %s: leave it out; it is for %s", flag, c, use.why, strings.Join(others, ", "))
		}
	}
	switch flags := f.cmd.Flags(); {
	case *f.on != onSim && c == ccl.Barrier && flags.Changed("buffer"):
		return fmt.Errorf("--buffer has no effect: %v moves no data: leave it out", c)
	case *f.on == onSim && flags.Changed("check") && *f.check == "1" && *f.data == "off":
		return errors.New("--check 1 has no effect: --data off computes no values to compare: delete one of them")
	case *f.on == onSim && flags.Changed("values") && *f.data == "off":
		return errors.New("--values has no effect: --data off computes no values: delete one of them")
	case *f.on == onSim && flags.Changed("values") && *f.check == "0":
		return errors.New("--values has no effect: --check 0 computes no values: delete one of them")
	}
	return nil
}

// misplaced refuses flags that the ranks of --on have no use for.
func (f *collFlags) misplaced() error {
	flags, word := f.cmd.Flags(), *f.buffer
	ofReal := slices.Contains(realBuffers, word)
	if *f.on == onSim {
		switch {
		case flags.Changed("nranks"):
			return errors.New("--nranks is for --on shm and inproc: with --on sim, --world says how many ranks there are")
		case flags.Changed("warmup-iters"):
			return errors.New("--warmup-iters is for --on shm and inproc: simulated time needs no warming up")
		case ofReal:
			return fmt.Errorf("--buffer %s is for --on shm and inproc: with --on sim write one of %s", word, strings.Join(bufferWords(), ", "))
		}
		return nil
	}
	for _, only := range simulatedOnly {
		if !flags.Changed(only.flag) {
			continue
		}
		instead := only.instead
		if instead == "" {
			instead = "leave it out"
		}
		return fmt.Errorf("--%s is for --on sim: with --on %s, %s", only.flag, *f.on, instead)
	}
	if word != "" && !ofReal {
		return fmt.Errorf("--buffer %s is for --on sim: with --on %s write one of %s", word, *f.on, strings.Join(realBuffers, ", "))
	}
	return nil
}

// real returns the options of ranks that are processes or goroutines.
func (f *collFlags) real(c ccl.Collective) (collperf.Options, error) {
	o, err := f.common(c)
	if err != nil {
		return o, err
	}
	if !f.cmd.Flags().Changed("iters") {
		o.Iters = realIters
	}
	o.NRanks, o.Warmups, o.Window, o.Output = f.nranks, f.warmups, *f.buffer == window, f.cmd.ErrOrStderr()
	return o, o.Validate()
}

// realText describes real ranks: "2 processes (shm) on 4 cores, each bound to one".
func realText(o collperf.Options) string {
	rank := "process"
	if o.Backend == collperf.Goroutines {
		rank = "goroutine"
	}
	text := fmt.Sprintf("%s (%s) on %s", printable.Count(o.NRanks, rank), o.Backend, printable.Count(runtime.NumCPU(), "core"))
	if o.CPUs() != nil {
		text += ", each bound to one"
	}
	return text
}

// realBuffer returns where the buffers of real ranks are.
func realBuffer(o collperf.Options) string {
	if o.Window {
		return window
	}
	return private
}
