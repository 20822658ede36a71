package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "coll",
		Uses:    bench.UsesCollectives,
		Summary: "one collective at one size with one algorithm: a row of kernbench coll, for sweeps",
		Doc: `A row of kernbench coll on the machine of the run: time_us from the common start
to the end of the last PE, algbw and busbw, the number of wrong elements, the
algorithm, the lower bound and what sets it. kernbench coll measures many sizes
and algorithms of one machine; kernbench sweep of this bench also varies
settings of the machine.`,
		Params: []bench.Param{
			{Name: "collective", Usage: "collective to measure", Default: ccl.AllReduce.String(), Values: lists.Map(ccl.Collectives(), ccl.Collective.String)},
			{Name: "algo", Usage: "algorithm, or auto; if not given, as in ccl.yaml"},
			{Name: "size", Usage: "bytes, the larger of what a rank sends and receives: 8, 4K, 1M", Default: "64K"},
			{Name: "dtype", Usage: "dtype of the elements", Default: tl.F16.String(), Values: lists.Map(numeric.DTypes, numeric.DType.String)},
			{Name: "op", Usage: "reduction", Default: ccl.Sum.String(), Values: lists.Map(collperf.Reductions(), ccl.Reduction.String)},
			{Name: "root", Usage: "rank of the root", Default: "0"},
			{Name: "ranks-per", Usage: "what a rank is", Default: string(collperf.PerSIP), Values: []string{"pe", "sip"}},
			{Name: "world", Usage: "use only the first ranks; 0 for all, or as in ccl.yaml if a rank is a PE", Default: "0"},
			{Name: "partial", Usage: "all_reduce of SIPs' tensors with an addend on each cube", Default: "false", Values: []string{"false", "true"}},
			{Name: "buffer", Usage: "memory of queue slots: tcm, sram or hbm; if not given, as in ccl.yaml and the topology"},
			{Name: "values", Usage: "values of the tensors", Default: string(collperf.Integers), Values: []string{"integers", "reals"}},
			{Name: "iters", Usage: "iterations to average over", Default: "1"},
		},
		Cost: func(params map[string]string, g *topology.Graph) float64 {
			o, err := collOptions(func(name string) string { return params[name] }, g, ccl.Default())
			if err != nil {
				return 0
			}
			return o.Cost()
		},
		Row: collRow{},
		Run: runColl,
	})
}

// collRow is the result of one algorithm. It lacks the columns of kernbench coll that
// compare algorithms.
type collRow struct {
	Collective string `json:"collective" table:",setting"`
	collperf.Case
	collperf.Measured
}

// runColl measures one collective on the machine of the bench. It adds a row, and a check
// if values are computed.
func runColl(b *bench.B) error {
	o := torch.Must(collOptions(b.Param, b.Topology(), b.CCL()))
	o.NoCheck = !b.HasData()
	row, compared, err := collperf.MeasureOn(b.Rank, o)
	if mistake, ok := errors.AsType[*collperf.OptionError](err); ok {
		return &bench.ParamError{Name: mistake.Option, Err: mistake}
	}
	torch.OK(err)
	b.Row(collRow{o.Collective.String(), row.Case, row.Measured})
	if row.Wrong != nil {
		check := torch.Check{Name: o.Collective.String(), Elems: compared}
		if *row.Wrong > 0 {
			check.Wrong = fmt.Sprintf("%d of %d elements are wrong", *row.Wrong, compared)
		}
		b.AddCheck(check)
	}
	return nil
}

// collOptions converts the parameters of the bench to options of a measurement. param
// returns the value of a parameter.
func collOptions(param func(string) string, g *topology.Graph, config *ccl.Config) (o collperf.Options, err error) {
	mistake := func(name, format string, args ...any) (collperf.Options, error) {
		return o, &bench.ParamError{Name: name, Err: fmt.Errorf(format, args...)}
	}
	o = collperf.Options{
		Topology: g, CCL: config, Algorithm: param("algo"), RanksPer: collperf.RanksPer(param("ranks-per")),
		Partial: param("partial") == "true", Buffer: topology.BufferKind(param("buffer")), Values: collperf.Values(param("values")),
	}
	if o.Collective, err = ccl.ParseCollective(param("collective")); err != nil {
		return mistake("collective", "%w", err)
	}
	dtype, err := numeric.ParseDType(param("dtype"))
	if err != nil {
		return mistake("dtype", "%w", err)
	}
	o.DTypes = []tl.DType{dtype}
	for _, r := range collperf.Reductions() {
		if r.String() == param("op") {
			o.Reductions = []ccl.Reduction{r}
		}
	}
	for _, n := range []struct {
		name string
		to   *int
	}{{"root", &o.Root}, {"world", &o.World}, {"iters", &o.Iters}} {
		if *n.to, err = strconv.Atoi(param(n.name)); err != nil || *n.to < 0 {
			return mistake(n.name, "%q: write a whole number", param(n.name))
		}
	}
	var size collperf.Size
	if err := size.Set(param("size")); err != nil {
		return mistake("size", "%q: %w", param("size"), err)
	}
	o.Min, o.Max = topology.Bytes(size), topology.Bytes(size)
	defaults, err := config.Named("")
	if o.RanksPer == collperf.PerPE {
		o.World = cmp.Or(o.World, defaults.WorldSize)
	}
	switch c := o.Collective; {
	case err != nil:
		return o, err
	case o.Algorithm == collperf.AllAlgorithms:
		return mistake("algo", "a row has one algorithm: name one, sweep params.algo, or compare them with kernbench coll %v --algo all", c)
	case o.Buffer != "" && !slices.Contains(topology.BufferKinds, o.Buffer):
		return mistake("buffer", "%q: write one of tcm, sram, hbm", o.Buffer)
	case o.Iters < 1:
		return mistake("iters", "%q: write 1 or more", param("iters"))
	case !c.Rooted() && o.Root != 0:
		return mistake("root", "%v has no root: leave it out", c)
	case !c.Reduces() && o.Reductions[0] != ccl.Sum:
		return mistake("op", "%v reduces nothing: leave it out", c)
	}
	return o, nil
}
