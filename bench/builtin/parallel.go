package builtin

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
	"github.com/kernbench/kernbench/tp"
)

// Parameters of benches with tensor parallelism. Those without a default get one from
// [defaulted].
var (
	precisionParam = bench.Param{Name: "dtype", Usage: "dtype of the elements", Default: "f16", Values: []string{"f16", "bf16", "f32"}}
	groupParam     = bench.Param{Name: "algo", Usage: "algorithm of collectives between ranks: auto is the cheapest, ccl.yaml the configured one", Default: ccl.Auto}
	tpParam        = bench.Param{Name: "tp", Usage: "number of tensor-parallel ranks, each a SIP; several separated by commas"}
	tokensParam    = bench.Param{Name: "tokens", Usage: "number of tokens"}
	overlapParam   = bench.Param{Name: "overlap", Usage: "pieces in which a row-parallel result is reduced while later pieces are computed; several separated by commas"}
	sequenceParam  = bench.Param{Name: "sequence-parallel", Usage: "divide the tokens over the ranks between layers", Values: []string{"off", "on", "both"}}
	placementParam = bench.Param{Name: "placement", Usage: "divide weights over the cubes of a device, or copy them to each cube, which has its own tokens", Values: []string{"columns", "tokens"}}
)

// defaulted returns a parameter with a default.
func defaulted(p bench.Param, value string) bench.Param {
	p.Default = value
	return p
}

// counts returns the value of a parameter that is a list of numbers.
func counts(b *bench.B, name string, most int) (list []int, err error) {
	for _, text := range strings.Split(b.Param(name), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most || slices.Contains(list, n) {
			return nil, &bench.ParamError{Name: name, Err: fmt.Errorf("%q: write whole numbers from 1 to %d, each once, with commas between them", b.Param(name), most)}
		}
		list = append(list, n)
	}
	return list, nil
}

// precision returns the dtype that a parameter names.
func precision(b *bench.B) torch.DType { return exactTypes[b.Param("dtype")].dtype }

// divides refuses a size that does not divide by ranks.
func divides(param, what string, n int, ranks []int) error {
	for _, r := range ranks {
		if n%r != 0 {
			return &bench.ParamError{Name: param, Err: fmt.Errorf("%d %s do not divide by %d ranks", n, what, r)}
		}
	}
	return nil
}

// mostProducts is how many products of two numbers a bench computes to check values: some
// minutes' worth.
const mostProducts = 1 << 37

// bytesPerElement estimates what an element of inputs and weights takes of this computer: a
// number, and in the reference its value and its error, with those of products on the way.
const bytesPerElement = 64

// affordable refuses values that would take too long to compute and to check, or more
// memory than this computer has: elements is how many inputs and weights have.
func affordable(r *torch.Rank, products, elements float64) error {
	if !r.HasData() {
		return nil
	}
	if products > mostProducts {
		return &bench.ParamError{Name: "tokens", Err: fmt.Errorf("%.1g products of numbers are too many to compute and check: take fewer tokens, or find out times only with --data=off", products)}
	}
	return r.Reserve("inputs and reference", uint64(bytesPerElement*elements))
}

// between returns the algorithm of collectives between ranks, by the parameter.
func between(b *bench.B) ([]dist.GroupOption, error) {
	name := b.Param("algo")
	if name == ccl.File {
		return nil, nil
	}
	if names := append([]string{ccl.Auto, ccl.File}, ccl.Names()...); !slices.Contains(names, name) {
		return nil, &bench.ParamError{Name: "algo", Err: fmt.Errorf("no algorithm %q: there are %s", name, strings.Join(names, ", "))}
	}
	return []dist.GroupOption{dist.Algorithm(name)}, nil
}

// sequences returns whether ranks have tokens of their own, by the parameter.
func sequences(b *bench.B) []bool {
	return map[string][]bool{"off": {false}, "on": {true}, "both": {false, true}}[b.Param("sequence-parallel")]
}

// weightPlacement returns where the weights of layers lie, by the parameter.
func weightPlacement(b *bench.B) torch.DPPolicy {
	return map[string]torch.DPPolicy{"columns": tp.Spread, "tokens": tp.ByTokens}[b.Param("placement")]
}

// withSIPs returns the system of the bench if it has that number of SIPs, else one like it
// that has, with a note.
func withSIPs(b *bench.B, sips int) (*topology.Graph, error) {
	spec := *b.Topology().Spec()
	if spec.System.SIPs.Count == sips {
		return b.Topology(), nil
	}
	s := &spec.System.SIPs
	s.Count = sips
	if s.Topology.Grid() {
		s.W, s.H = topology.MostSquare(sips)
	}
	g, err := topology.Compile(&spec)
	if err != nil {
		return nil, fmt.Errorf("with %d SIPs: %w", sips, err)
	}
	b.Notef("tp %d runs on as many SIPs (hash %s)", sips, g.Spec().Hash())
	return g, nil
}

// onRanks runs a worker on each SIP of a system, with tensor parallelism over all of them,
// whose group has the options. If that is the whole bench and the system is that of the
// bench, it needs no other machine.
func onRanks(b *bench.B, g *topology.Graph, whole bool, options []dist.GroupOption, worker func(r *torch.Rank) error) error {
	ranks := g.Spec().System.SIPs.Count
	run := func(on *bench.B) error {
		return on.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, dist.Backend, options...))
			torch.OK(tp.InitializeModelParallel(r, ranks, 1, 1, 1, ""))
			torch.OK(worker(r))
			return dist.DestroyProcessGroup(r)
		}, ranks)
	}
	if whole && g == b.Topology() {
		return run(b)
	}
	return b.Machine(g, run)
}

// agree checks that the ranks have the same bits.
func agree(b *bench.B, name string, ranks []*torch.Array) {
	check := torch.Check{Name: name}
	for rank, a := range ranks {
		check.Elems += a.Len()
		if check.Wrong == "" && !bytes.Equal(a.Bytes, ranks[0].Bytes) {
			check.Wrong = fmt.Sprintf("rank %d has other bits than rank 0", rank)
		}
	}
	b.AddCheck(check)
}

// gemmTime returns how long the GEMM engine of a SIP that worked longest did.
func gemmTime(r *torch.Rank, sip int) (most torch.Time) {
	spec := r.Topology().Spec()
	first := r.PE(sip, 0, 0)
	for i := range spec.CubesPerSIP() * spec.PEsPerCube() {
		most = max(most, r.Engines(first+i).GEMM)
	}
	return most
}

// normal returns n numbers of a normal distribution with this deviation: the seed says which.
func normal(n int, deviation float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * deviation)
	}
	return x
}
