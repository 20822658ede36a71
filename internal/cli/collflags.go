package cli

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// dtypeNames are the names of dtypes in nccl-tests.
var dtypeNames = map[string]tl.DType{
	"half": tl.F16, "float16": tl.F16, "bfloat16": tl.BF16, "float": tl.F32, "float32": tl.F32, "double": tl.F64, "float64": tl.F64,
	"int8": tl.I8, "int16": tl.I16, "int32": tl.I32, "int64": tl.I64,
	"uint8": tl.U8, "uint16": tl.U16, "uint32": tl.U32, "uint64": tl.U64,
}

// dtypes is the value of a flag that is a dtype, or all of them.
type dtypes []tl.DType

func (d *dtypes) String() string {
	if len(*d) == 1 {
		return (*d)[0].String()
	}
	return all
}
func (d *dtypes) Type() string { return "dtype" }
func (d *dtypes) Set(word string) error {
	one, err := numeric.ParseDType(word)
	alias, known := dtypeNames[word]
	switch {
	case word == all:
		*d = numeric.DTypes
	case known:
		*d = dtypes{alias}
	case err != nil:
		return fmt.Errorf("%w, or all", err)
	default:
		*d = dtypes{one}
	}
	return nil
}

// all is the word for everything that a flag could be.
const all = "all"

// collFlags are the flags of a measurement.
type collFlags struct {
	cmd *cobra.Command
	on  *string // what ranks are

	least, most, step               collperf.Size
	factor, iters                   int
	op, root, check, values, buffer *string
	algorithm                       *string
	types                           dtypes
	timeout                         *timeoutValue
	perRank                         *bool

	// Of simulated ranks.
	world               int
	per, data, fidelity *string
	partial             *bool
	trace               *string
	threads             func() (int, error)
	points              *pointFlags

	// Of real ones.
	nranks, warmups int
}

// addCollFlags gives a command the flags of a measurement.
func addCollFlags(cmd *cobra.Command) *collFlags {
	f := &collFlags{cmd: cmd, least: 8, most: 1 << 20, factor: 2, iters: 1, types: dtypes{tl.F16}, warmups: 5}
	flags := cmd.Flags()
	f.on = choiceFlag(cmd, "on", "what ranks are: parts of a simulated machine, processes (shm) or goroutines (inproc)", onSim, onShm, onInproc)
	flags.VarP(&f.least, "minbytes", "b", "smallest `SIZE`: 8, 4K, 1M, 1G")
	flags.VarP(&f.most, "maxbytes", "e", "largest `SIZE`")
	flags.VarP((*wholeNumber)(&f.factor), "stepfactor", "f", "each size is the one before times `N`")
	flags.VarP(&f.step, "stepbytes", "i", "each size is the one before and `SIZE` more, instead of --stepfactor")
	f.op = wordFlag(cmd, "op", "o", "reduction", "sum", reductionWords())
	flags.VarP(&f.types, "datatype", "d", "`DTYPE` of the elements, also as half, float, bfloat16, int32 and so on, or all")
	f.root = wordFlag(cmd, "root", "r", "`RANK` that is the root, or all", "0", nil)
	flags.VarP((*wholeNumber)(&f.iters), "iters", "n", "iterations, whose times are averaged; of real ranks 20 unless given")
	f.check = wordFlag(cmd, "check", "c", "compare the values of every rank", "1", []string{"0", "1"})
	f.values = choiceFlag(cmd, "values", "what tensors hold", "integers", "reals")
	f.perRank = flags.Bool("per-rank", false, "also print how long every rank took")
	f.timeout = timeoutFlag(cmd)
	f.algorithm = flags.String("algo", "", "`NAME` of the algorithm, auto, or all to compare them (default as ccl.yaml says; auto of real ranks)")
	complete(cmd, "algo", append(ccl.Names(), collperf.Auto, collperf.AllAlgorithms), cobra.ShellCompDirectiveNoFileComp)
	f.per = wordFlag(cmd, "ranks-per", "", "what a rank is (default sip if there are several)", "", []string{"pe", "sip"})
	intFlag(cmd, &f.world, "world", 0, "`N` ranks, the first there are; 0 for all (default as ccl.yaml says where a rank is a PE)")
	f.partial = flags.Bool("partial", false, "all_reduce of SIPs' tensors that have an addend on each cube")
	f.buffer = wordFlag(cmd, "buffer", "", "memory of queue slots (default as ccl.yaml and the topology say); of real ranks private or window, where buffers are (default private)", "",
		append(bufferWords(), realBuffers...))
	f.data = choiceFlag(cmd, "data", "compute values and check them, or times only", "on", "off")
	f.fidelity = fidelityFlag(cmd)
	f.threads = threadsFlag(cmd)
	f.trace = traceFlag(cmd)
	f.points = addPointFlags(cmd, "rows are not kept")
	intFlag(cmd, &f.nranks, "nranks", 2, "`N` real ranks")
	flags.VarP((*wholeNumber)(&f.warmups), "warmup-iters", "w", "iterations of real ranks before those that are measured")
	return f
}

// common returns the options of simulated and real ranks.
func (f *collFlags) common(c ccl.Collective) (o collperf.Options, err error) {
	o = collperf.Options{
		Backend: collperf.Backend(*f.on), Collective: c, Algorithm: *f.algorithm,
		Min: topology.Bytes(f.least), Max: topology.Bytes(f.most), StepFactor: f.factor, StepBytes: topology.Bytes(f.step),
		Iters: f.iters, Timeout: time.Duration(*f.timeout), Values: collperf.Values(*f.values), NoCheck: *f.check == "0", PerRank: *f.perRank,
	}
	err = refuse(f.cmd,
		misuse{"algo", *f.algorithm == "", `"": write the name of an algorithm, auto or all`},
		misuse{"stepbytes", f.cmd.Flags().Changed("stepfactor"), "and --stepfactor: give one"},
		misuse{"stepbytes", f.step == 0, "0: write 1 or more"},
		misuse{"stepfactor", f.factor < 2, fmt.Sprintf("%d: write 2 or more", f.factor)},
		misuse{"iters", f.iters < 1, fmt.Sprintf("%d: write 1 or more", f.iters)})
	if err != nil {
		return o, err
	}
	o.Reductions, o.DTypes = chosenReductions(*f.op), f.types
	o.Root, err = parseRoot(*f.root)
	return o, err
}

// simulated returns the options of ranks on a simulated system.
func (f *collFlags) simulated(c ccl.Collective, g *topology.Graph, how *ccl.Config) (collperf.Options, error) {
	o, err := f.common(c)
	if err != nil {
		return o, err
	}
	o.Topology, o.CCL, o.World, o.Partial = g, how, f.world, *f.partial
	defaults, err := how.Named("")
	if err != nil {
		return o, err
	}
	o.Buffer, o.Flit, o.Trace = topology.BufferKind(*f.buffer), *f.fidelity == "flit", *f.trace
	o.NoCheck = o.NoCheck || *f.data == "off"
	o.RanksPer = collperf.RanksPer(*f.per)
	if *f.per == "" {
		o.RanksPer = collperf.PerPE
		if g.Spec().System.SIPs.Count > 1 || *f.partial {
			o.RanksPer = collperf.PerSIP
		}
	}
	if !f.cmd.Flags().Changed("world") && o.RanksPer == collperf.PerPE {
		o.World = defaults.WorldSize
	}
	if o.Threads, err = f.threads(); err != nil {
		return o, err
	}
	if err := folderOf("trace", o.Trace); err != nil {
		return o, err
	}
	if o.Experiment, err = f.points.options(); err != nil {
		return o, err
	}
	x, withoutFile := o.Experiment, "is for --out: add the file that has points"
	err = refuse(f.cmd,
		misuse{"resume", x.Resume && x.File == "", withoutFile},
		misuse{"replace", x.Replace && x.File == "", withoutFile},
		misuse{"resume", x.Resume && o.Trace != "", "and --trace: a row that is taken over has no trace: leave out one of them"})
	if err != nil {
		return o, err
	}
	return o, o.Validate()
}

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

func reductionWords() []string {
	return append(wordsOf(collperf.Reductions(), ccl.Reduction.String), all)
}

func chosenReductions(word string) []ccl.Reduction {
	list := collperf.Reductions()
	if word == all {
		return list
	}
	return slices.DeleteFunc(list, func(r ccl.Reduction) bool { return r.String() != word })
}

func bufferWords() []string { return printable.Words(topology.BufferKinds) }
