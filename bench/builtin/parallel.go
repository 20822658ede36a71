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

// Parameters of benches with tensor parallelism. [withDefault] adds missing defaults.
var (
	precisionParam = bench.Param{Name: "dtype", Usage: "dtype of the elements", Default: "f16", Values: []string{"f16", "bf16", "f32"}}
	groupParam     = bench.Param{Name: "algo", Usage: "algorithm of collectives between ranks: auto is the cheapest, ccl.yaml the configured one", Default: ccl.Auto}
	tpParam        = bench.Param{Name: "tp", Usage: "number of tensor-parallel ranks, each a SIP; several separated by commas"}
	tokensParam    = bench.Param{Name: "tokens", Usage: "number of tokens"}
	overlapParam   = bench.Param{Name: "overlap", Usage: "pieces in which a row-parallel result is reduced while later pieces are computed; several separated by commas"}
	sequenceParam  = bench.Param{Name: "sequence-parallel", Usage: "divide the tokens over the ranks between layers", Values: []string{"off", "on", "both"}}
	placementParam = bench.Param{Name: "placement", Usage: "divide weights over the cubes of a device, or copy them to each cube, which has its own tokens", Values: []string{"columns", "tokens"}}
)

// withDefault returns a copy of parameter p whose default is `value`.
func withDefault(p bench.Param, value string) bench.Param {
	p.Default = value
	return p
}

// countsParam returns the value of the parameter with the given name, which must be a list
// of different whole numbers from 1 to `most`.
func countsParam(b *bench.B, name string, most int) (list []int, err error) {
	for _, text := range strings.Split(b.Param(name), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most || slices.Contains(list, n) {
			return nil, &bench.ParamError{Name: name, Err: fmt.Errorf("%q: write whole numbers from 1 to %d, each once, with commas between them", b.Param(name), most)}
		}
		list = append(list, n)
	}
	return list, nil
}

// dtypeOf returns the dtype that the value of the parameter dtype names.
func dtypeOf(b *bench.B) torch.DType { return exactTypes[b.Param("dtype")].dtype }

// checkDivides returns an error unless n is divisible by every number in ranks. The error
// is about the parameter `param`; `what` says in the error what is divided.
func checkDivides(param, what string, n int, ranks []int) error {
	for _, r := range ranks {
		if n%r != 0 {
			return &bench.ParamError{Name: param, Err: fmt.Errorf("%d %s do not divide by %d ranks", n, what, r)}
		}
	}
	return nil
}

// maxProducts is the largest number of multiplications that a bench does to check values.
// They take some minutes.
const maxProducts = 1 << 37

// bytesPerElement is an estimate of the memory on this computer for each element of inputs
// and weights: the number itself, and in the reference its value and its error, including
// those of intermediate products.
const bytesPerElement = 64

// checkAffordable returns an error if computing and checking values would take too long or
// more memory than this computer has. `products` is the number of multiplications, and
// `elements` the number of elements of inputs and weights. checkAffordable returns nil if
// values are not computed.
func checkAffordable(r *torch.Rank, products, elements float64) error {
	if !r.HasData() {
		return nil
	}
	if products > maxProducts {
		return &bench.ParamError{Name: "tokens", Err: fmt.Errorf("%.1g products of numbers are too many to compute and check: take fewer tokens, or find out times only with --data=off", products)}
	}
	return r.Reserve("inputs and reference", uint64(bytesPerElement*elements))
}

// groupOptions returns the options of the process group. They select the algorithm that the
// parameter algo names. If algo is "ccl.yaml", there are no options. groupOptions returns
// an error if algo does not name an algorithm.
func groupOptions(b *bench.B) ([]dist.GroupOption, error) {
	name := b.Param("algo")
	if name == ccl.File {
		return nil, nil
	}
	if names := append([]string{ccl.Auto, ccl.File}, ccl.Names()...); !slices.Contains(names, name) {
		return nil, &bench.ParamError{Name: "algo", Err: fmt.Errorf("no algorithm %q: there are %s", name, strings.Join(names, ", "))}
	}
	return []dist.GroupOption{dist.Algorithm(name)}, nil
}

// sequenceModes returns the modes that the parameter sequence-parallel selects. In the
// list, true stands for a run with sequence parallelism and false for a run without.
func sequenceModes(b *bench.B) []bool {
	return map[string][]bool{"off": {false}, "on": {true}, "both": {false, true}}[b.Param("sequence-parallel")]
}

// weightPlacement returns the placement of the weights that the parameter placement names.
func weightPlacement(b *bench.B) torch.DPPolicy {
	return map[string]torch.DPPolicy{"columns": tp.Spread, "tokens": tp.ByTokens}[b.Param("placement")]
}

// systemWithSIPs returns the system of the bench if it has the given number of SIPs.
// Otherwise it returns a similar system with that number of SIPs and adds a note.
func systemWithSIPs(b *bench.B, sips int) (*topology.Graph, error) {
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

// runOnRanks runs a worker on each SIP of a system, with tensor parallelism over all SIPs.
// The process group has the given options. The workers run on the machine of the bench if
// `whole` is set and g is the system of the bench, and otherwise on another machine.
func runOnRanks(b *bench.B, g *topology.Graph, whole bool, options []dist.GroupOption, worker func(r *torch.Rank) error) error {
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

// checkSameBits adds a check that the arrays of all ranks have the same bits.
func checkSameBits(b *bench.B, name string, ranks []*torch.Array) {
	check := torch.Check{Name: name}
	for rank, a := range ranks {
		check.Elems += a.Len()
		if check.Wrong == "" && !bytes.Equal(a.Bytes, ranks[0].Bytes) {
			check.Wrong = fmt.Sprintf("rank %d has other bits than rank 0", rank)
		}
	}
	b.AddCheck(check)
}

// gemmTime returns the longest busy time among the GEMM engines of a SIP.
func gemmTime(r *torch.Rank, sip int) (most torch.Time) {
	spec := r.Topology().Spec()
	first := r.PE(sip, 0, 0)
	for i := range spec.CubesPerSIP() * spec.PEsPerCube() {
		most = max(most, r.Engines(first+i).GEMM)
	}
	return most
}

// normalNumbers returns n random numbers with a normal distribution around 0. The numbers
// depend only on the arguments.
func normalNumbers(n int, deviation float64, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * deviation)
	}
	return x
}
