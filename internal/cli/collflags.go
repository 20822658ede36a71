package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// all is the value of a flag that selects everything the flag can select.
const all = "all"

// collFlags has the flags of a measurement. Most of them are fields of the embedded
// Options.
type collFlags struct {
	collperf.Options
	cmd                                                      *cobra.Command
	on, op, root, check, values, buffer, per, data, fidelity *string
	threads                                                  func() (int, error)
	points                                                   *pointFlags
}

// addCollFlags adds the flags of a measurement of collectives to a command. When the
// command runs, the result contains the values of the flags.
func addCollFlags(cmd *cobra.Command) *collFlags {
	f := &collFlags{cmd: cmd, Options: collperf.Options{Min: 8, Max: 1 << 20, StepFactor: 2, Iters: 1, DTypes: []tl.DType{tl.F16}, Warmups: 5}}
	flags := cmd.Flags()
	f.on = choiceFlag(cmd, "on", "kind of ranks: simulated, processes (shm) or goroutines (inproc)", onSim, string(collperf.Processes), string(collperf.Goroutines))
	flags.VarP((*collperf.Size)(&f.Min), "minbytes", "b", "smallest `SIZE`: 8, 4K, 1M, 1G")
	flags.VarP((*collperf.Size)(&f.Max), "maxbytes", "e", "largest `SIZE`")
	flags.VarP(number(&f.StepFactor), "stepfactor", "f", "factor `N` between sizes")
	flags.VarP((*collperf.Size)(&f.StepBytes), "stepbytes", "i", "`SIZE` added between sizes, instead of a factor")
	f.op = wordFlag(cmd, "op", "o", "reduction", "sum", append(lists.Map(collperf.Reductions(), ccl.Reduction.String), all))
	flags.VarP((*collperf.DTypes)(&f.DTypes), "dtype", "d", "`DTYPE` of the elements, such as f16, half, float, bfloat16, int32, or all")
	oldFlag(cmd, "datatype", "dtype")
	f.root = wordFlag(cmd, "root", "r", "`RANK` of the root, or all", "0", nil)
	flags.VarP(number(&f.Iters), "iters", "n", "`N` iterations to average over; 20 by default for real ranks")
	f.check = wordFlag(cmd, "check", "c", "1 compares the values of every rank", "1", []string{"0", "1"})
	f.values = choiceFlag(cmd, "values", "values of the tensors", "integers", "reals")
	flags.BoolVar(&f.PerRank, "per-rank", false, "also print the time of every rank")
	timeoutFlag(cmd, &f.Timeout)
	flags.StringVar(&f.Algorithm, "algo", "", "`NAME` of the algorithm, auto for the cheapest at each size, or all to compare them (default: as in ccl.yaml; auto for real ranks)")
	complete(cmd, "algo", append(ccl.Names(), collperf.Auto, collperf.AllAlgorithms), cobra.ShellCompDirectiveNoFileComp)
	f.per = wordFlag(cmd, "ranks-per", "", "what a rank is (default: sip if there are several)", "", []string{"pe", "sip"})
	intFlag(cmd, &f.World, "world", 0, "use the first `N` ranks; 0 for all (default: as in ccl.yaml if a rank is a PE)")
	flags.BoolVar(&f.Partial, "partial", false, "all_reduce of SIPs' tensors with an addend on each cube")
	f.buffer = wordFlag(cmd, "buffer", "", "`MEMORY` of queue slots: tcm, sram or hbm (default: as in ccl.yaml and the topology); for real ranks, memory of buffers: private, which must be copied, or window, which other ranks can read (default private)", "",
		append(bufferWords(), realBuffers...))
	f.data = choiceFlag(cmd, "data", "off computes times only", "on", "off")
	f.fidelity = fidelityFlag(cmd)
	f.threads = threadsFlag(cmd)
	traceFlag(cmd, &f.Trace)
	f.points = addPointFlags(cmd, "none")
	intFlag(cmd, &f.NRanks, "nranks", 2, "number `N` of real ranks")
	flags.VarP(number(&f.Warmups), "warmup-iters", "w", "`N` iterations of real ranks before measuring")
	return f
}

// commonOptions returns the options for collective c that do not depend on whether its
// ranks are simulated or real.
func (f *collFlags) commonOptions(c ccl.Collective) (o collperf.Options, err error) {
	f.Backend, f.Collective, f.Values, f.NoCheck = collperf.Backend(*f.on), c, collperf.Values(*f.values), *f.check == "0"
	err = refuse(f.cmd,
		misuse{"algo", f.Algorithm == "", `"": write the name of an algorithm, auto or all`},
		misuse{"stepbytes", f.cmd.Flags().Changed("stepfactor"), "and --stepfactor: give one"},
		misuse{"stepbytes", f.StepBytes == 0, "0: write 1 or more"},
		misuse{"stepfactor", f.StepFactor < 2, fmt.Sprintf("%d: write 2 or more", f.StepFactor)},
		misuse{"iters", f.Iters < 1, fmt.Sprintf("%d: write 1 or more", f.Iters)})
	if err != nil {
		return o, err
	}
	if f.Reductions = collperf.Reductions(); *f.op != all {
		f.Reductions = slices.DeleteFunc(f.Reductions, func(r ccl.Reduction) bool { return r.String() != *f.op })
	}
	f.Root, err = parseRoot(*f.root)
	return f.Options, err
}

// simulatedOptions returns the options for measuring collective c on the simulated machine
// g.
func (f *collFlags) simulatedOptions(c ccl.Collective, g *topology.Graph, config *ccl.Config) (collperf.Options, error) {
	o, err := f.commonOptions(c)
	if err != nil {
		return o, err
	}
	defaults, err := config.Named("")
	if err != nil {
		return o, err
	}
	o.Topology, o.CCL, o.Buffer, o.Flit = g, config, topology.BufferKind(*f.buffer), *f.fidelity == "flit"
	o.NoCheck = o.NoCheck || *f.data == "off"
	if o.RanksPer = collperf.RanksPer(*f.per); *f.per == "" {
		o.RanksPer = collperf.PerPE
		if g.Spec().System.SIPs.Count > 1 || o.Partial {
			o.RanksPer = collperf.PerSIP
		}
	}
	if !f.cmd.Flags().Changed("world") && o.RanksPer == collperf.PerPE {
		o.World = defaults.WorldSize
	}
	const withoutFile = "is for --out: add the file that has points"
	x, pointsErr := f.points.options()
	o.Experiment = x
	o.Threads, err = f.threads()
	if err := cmp.Or(err, file.CheckNew("--trace", o.Trace), pointsErr, refuse(f.cmd,
		misuse{"resume", x.Resume && x.File == "", withoutFile},
		misuse{"replace", x.Replace && x.File == "", withoutFile},
		misuse{"resume", x.Resume && o.Trace != "", "and --trace: a row that is taken over has no trace: leave out one of them"})); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// parseRoot parses the value of --root: the number of a rank, or the word all.
func parseRoot(text string) (int, error) {
	if text == all {
		return collperf.AllRoots, nil
	}
	root, err := strconv.Atoi(text)
	if err != nil || root < 0 {
		return 0, fmt.Errorf("--root %q: write the number of a rank, or all", text)
	}
	return root, nil
}

func bufferWords() []string { return printable.Words(topology.BufferKinds) }

// onSim is the value of --on for simulated ranks.
const onSim = string(collperf.Sim)

// realBuffers lists the values of --buffer for real ranks.
var realBuffers = []string{collperf.PrivateBuffer, collperf.WindowBuffer}

// realIters is the default number of iterations of real ranks. It is more than 1 because
// the times of real ranks vary.
const realIters = 20

// notKept is the reason why real ranks refuse --out and the flags that go with it.
const notKept = "times are measured again in every run and are not kept: print them with --format csv or json"

// simulatedOnly lists the flags that have no meaning for real ranks, each with the advice
// that its error gives; "" means to leave the flag out.
var simulatedOnly = []struct{ flag, instead string }{
	{"topology", ""}, {"ccl", ""}, {"set", ""}, {"partial", ""}, {"ranks-per", ""}, {"fidelity", ""}, {"threads", ""}, {"trace", ""},
	{"world", "--nranks says how many there are"}, {"data", "--check 0 compares no values"},
	{"out", notKept}, {"resume", notKept}, {"replace", notKept}, {"strict", notKept}, {"shard", notKept},
}

// collUses lists the flags that only some collectives use.
var collUses = []struct {
	flags []string
	used  func(ccl.Collective) bool // reports whether a collective uses the flags
	why   string                    // why the other collectives do not use them
}{
	{[]string{"minbytes", "maxbytes", "stepfactor", "stepbytes", "dtype", "check", "values", "data"}, func(c ccl.Collective) bool { return c != ccl.Barrier }, "moves no data"},
	{[]string{"op"}, ccl.Collective.Reduces, "reduces nothing"},
	{[]string{"root"}, ccl.Collective.Rooted, "has no root"},
}

// checkEffect returns an error if a flag was given that has no effect because of --on, the
// collective c or other flags.
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
			if use.used(other) {
				others = append(others, other.String())
			}
		}
		for _, flag := range use.flags {
			list = append(list, misuse{flag, !use.used(c), fmt.Sprintf("has no effect: %v %s: leave it out; it is for %s", c, use.why, strings.Join(others, ", "))})
		}
	}
	return refuse(f.cmd, append(list,
		misuse{"buffer", real && c == ccl.Barrier, fmt.Sprintf("has no effect: %v moves no data: leave it out", c)},
		misuse{"check", !real && *f.check == "1" && *f.data == "off", "1 has no effect: --data off computes no values to compare: delete one of them"},
		misuse{"values", !real && *f.data == "off", "has no effect: --data off computes no values: delete one of them"},
		misuse{"values", !real && *f.check == "0", "has no effect: --check 0 computes no values: delete one of them"})...)
}

// realOptions returns the options for measuring collective c with real ranks, which are
// processes or goroutines.
func (f *collFlags) realOptions(c ccl.Collective) (collperf.Options, error) {
	o, err := f.commonOptions(c)
	if err != nil {
		return o, err
	}
	if !f.cmd.Flags().Changed("iters") {
		o.Iters = realIters
	}
	o.Window, o.Output = *f.buffer == collperf.WindowBuffer, f.cmd.ErrOrStderr()
	return o, o.Validate()
}
