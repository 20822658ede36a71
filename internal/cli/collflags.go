package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// dtypeNames is the names of dtypes in nccl-tests.
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

// addCollFlags gives a command the flags of a measurement, and is how to read them.
func addCollFlags(cmd *cobra.Command) func(ccl.Collective, *topology.Graph, *ccl.Config) (collperf.Options, error) {
	least, most, step := byteSize(8), byteSize(1<<20), byteSize(0)
	factor, iters, world := 2, 1, 0
	flags := cmd.Flags()
	flags.VarP(&least, "minbytes", "b", "smallest `SIZE`: 8, 4K, 1M, 1G")
	flags.VarP(&most, "maxbytes", "e", "largest `SIZE`")
	flags.VarP((*wholeNumber)(&factor), "stepfactor", "f", "each size is the one before times `N`")
	flags.VarP(&step, "stepbytes", "i", "each size is the one before and `SIZE` more, instead of --stepfactor")
	op := wordFlag(cmd, "op", "o", "reduction", "sum", reductionWords())
	types := dtypes{tl.F16}
	flags.VarP(&types, "datatype", "d", "`DTYPE` of the elements, also as half, float, bfloat16, int32 and so on, or all")
	root := wordFlag(cmd, "root", "r", "`RANK` that is the root, or all", "0", nil)
	flags.VarP((*wholeNumber)(&iters), "iters", "n", "iterations, whose times are averaged")
	check := wordFlag(cmd, "check", "c", "compare the values of every rank", "1", []string{"0", "1"})
	values := choiceFlag(cmd, "values", "what tensors hold", "integers", "reals")
	algorithm := flags.String("algo", "", "`NAME` of the algorithm, auto, or all to compare them (default as ccl.yaml says)")
	complete(cmd, "algo", append(ccl.Names(), collperf.Auto, collperf.AllAlgorithms), cobra.ShellCompDirectiveNoFileComp)
	per := wordFlag(cmd, "ranks-per", "", "what a rank is (default sip if there are several)", "", []string{"pe", "sip"})
	intFlag(cmd, &world, "world", 0, "`N` ranks, the first there are; 0 for all")
	partial := flags.Bool("partial", false, "all_reduce of SIPs' tensors that have an addend on each cube")
	buffer := wordFlag(cmd, "buffer", "", "memory of queue slots (default as ccl.yaml and the topology say)", "", bufferWords())
	data := choiceFlag(cmd, "data", "compute values and check them, or times only", "on", "off")
	fidelity := fidelityFlag(cmd)
	threads := threadsFlag(cmd)
	return func(c ccl.Collective, g *topology.Graph, how *ccl.Config) (o collperf.Options, err error) {
		o = collperf.Options{
			Topology: g, CCL: how, Collective: c, Algorithm: *algorithm,
			Min: topology.Bytes(least), Max: topology.Bytes(most), StepFactor: factor, StepBytes: topology.Bytes(step),
			RanksPer: collperf.RanksPer(*per), World: world, Partial: *partial, Buffer: topology.BufferKind(*buffer), Iters: iters, Values: collperf.Values(*values),
			NoCheck: *check == "0" || *data == "off", Flit: *fidelity == "flit",
		}
		switch {
		case flags.Changed("algo") && *algorithm == "":
			return o, errors.New(`--algo "": write the name of an algorithm, auto or all`)
		case flags.Changed("stepbytes") && flags.Changed("stepfactor"):
			return o, errors.New("--stepbytes and --stepfactor: give one")
		case flags.Changed("stepbytes") && step == 0:
			return o, errors.New("--stepbytes 0: write 1 or more")
		case factor < 2:
			return o, fmt.Errorf("--stepfactor %d: write 2 or more", factor)
		case iters < 1:
			return o, fmt.Errorf("--iters %d: write 1 or more", iters)
		}
		if *per == "" {
			o.RanksPer = collperf.PerPE
			if g.Spec().System.SIPs.Count > 1 || *partial {
				o.RanksPer = collperf.PerSIP
			}
		}
		if o.Root, err = parseRoot(*root); err != nil {
			return o, err
		}
		o.Reductions, o.DTypes = chosenReductions(*op), types
		if o.Threads, err = threads(); err != nil {
			return o, err
		}
		return o, o.Validate()
	}
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

// collReductions is those that need no factor.
func collReductions() []ccl.Reduction {
	return slices.DeleteFunc(ccl.Reductions(), func(r ccl.Reduction) bool { return r == ccl.PremulSum })
}

func reductionWords() (words []string) {
	for _, r := range collReductions() {
		words = append(words, r.String())
	}
	return append(words, all)
}

func chosenReductions(word string) []ccl.Reduction {
	list := collReductions()
	if word == all {
		return list
	}
	return slices.DeleteFunc(list, func(r ccl.Reduction) bool { return r.String() != word })
}

func bufferWords() (words []string) {
	for _, kind := range topology.BufferKinds {
		words = append(words, string(kind))
	}
	return words
}
