package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
)

// The words of --on.
const (
	onSim    = string(collperf.Sim)
	onShm    = string(collperf.Processes)
	onInproc = string(collperf.Goroutines)
)

// realBuffers are the places where buffers of real ranks can be.
var realBuffers = []string{collperf.PrivateBuffer, collperf.WindowBuffer}

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

// checkEffect refuses flags that the ranks of --on, the collective or other flags make useless.
func (f *collFlags) checkEffect(c ccl.Collective) error {
	real, word := *f.on != onSim, *f.buffer
	ofReal := slices.Contains(realBuffers, word)
	list := []misuse{
		{"nranks", !real, "is for --on shm and inproc: with --on sim, --world says how many ranks there are"},
		{"warmup-iters", !real, "is for --on shm and inproc: simulated time needs no warming up"},
		{"buffer", !real && ofReal, fmt.Sprintf("%s is for --on shm and inproc: with --on sim write one of %s", word, strings.Join(bufferWords(), ", "))},
	}
	for _, only := range simulatedOnly {
		list = append(list, misuse{only.flag, real, fmt.Sprintf("is for --on sim: with --on %s, %s", *f.on, cmp.Or(only.instead, "leave it out"))})
	}
	list = append(list, misuse{"buffer", real && !ofReal, fmt.Sprintf("%s is for --on sim: with --on %s write one of %s", word, *f.on, strings.Join(realBuffers, ", "))})
	for _, use := range collUses {
		var others []string
		for _, other := range ccl.Collectives() {
			if use.by(other) {
				others = append(others, other.String())
			}
		}
		for _, flag := range use.flags {
			list = append(list, misuse{flag, !use.by(c), fmt.Sprintf("has no effect: %v %s: leave it out; it is for %s", c, use.why, strings.Join(others, ", "))})
		}
	}
	return refuse(f.cmd, append(list,
		misuse{"buffer", real && c == ccl.Barrier, fmt.Sprintf("has no effect: %v moves no data: leave it out", c)},
		misuse{"check", !real && *f.check == "1" && *f.data == "off", "1 has no effect: --data off computes no values to compare: delete one of them"},
		misuse{"values", !real && *f.data == "off", "has no effect: --data off computes no values: delete one of them"},
		misuse{"values", !real && *f.check == "0", "has no effect: --check 0 computes no values: delete one of them"})...)
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
	o.NRanks, o.Warmups, o.Window, o.Output = f.nranks, f.warmups, *f.buffer == collperf.WindowBuffer, f.cmd.ErrOrStderr()
	return o, o.Validate()
}
