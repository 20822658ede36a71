package builtin

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "ccl_all_reduce",
		Uses:    bench.UsesCollectives,
		Summary: "all-reduce of a few elements with every entry of ccl.yaml, over PEs or SIPs",
		Doc: `Every entry of ccl.yaml sums the elements of all ranks, and the result of every
rank is compared bit for bit. Rank r starts with r+1, or with smaller numbers if
the dtype cannot hold all sums exactly. A rank is a PE, or with --ranks-per sip
a device, whose first PE has the tensor; each device is then a worker of Spawn.
An entry for more ranks than the machine has is skipped, with a note. If
defaults.algorithm of ccl.yaml names an entry, only that entry runs unless
--algo is given.

crit_ns is the longest time of the all-reduce on a PE, spread_ns the largest
difference between the times at which its PEs could have started.`,
		Params: []bench.Param{
			{Name: "ranks-per", Usage: "what a rank is", Default: "pe", Values: []string{"pe", "sip"}},
			{Name: "algo", Usage: "entry of ccl.yaml, or all; if not given, the entry that its defaults name", Default: "all", Choose: (*ccl.Config).DefaultEntry, Names: (*ccl.Config).Names},
			{Name: "dtype", Usage: "dtype of the elements", Default: "f16", Values: []string{"f16", "bf16", "f32", "i32"}},
			{Name: "elems", Usage: "elements of each rank; if not given, as in ccl.yaml"},
		},
		Row: allReduceRow{},
		Run: runAllReduce,
	})
}

type allReduceRow struct {
	Name      string     `json:"name" table:",setting"`
	Algorithm string     `json:"algorithm" table:",result"`
	Buffer    string     `json:"buffer" table:",setting"`
	Ranks     int        `json:"ws" table:",setting,ranks"`
	Elems     int        `json:"n_elem" table:",setting,elements"`
	Crit      torch.Time `json:"crit_ns" table:"ns,lower,critical path"`
	Spread    torch.Time `json:"spread_ns" table:"ns,lower,spread of starts"`
}

// exactTypes is the dtypes with the largest number up to which each holds all whole
// ones.
var exactTypes = map[string]struct {
	dtype torch.DType
	limit int
}{
	"f16": {torch.F16, 1 << 11}, "bf16": {torch.BF16, 1 << 8}, "f32": {torch.F32, 1 << 24}, "i32": {torch.I32, 1<<31 - 1},
}

func runAllReduce(b *bench.B) error {
	config := b.CCL()
	names := config.Names()
	if name := b.Param("algo"); name != "all" {
		names = []string{name}
	}
	for _, name := range names {
		s, err := config.Named(name)
		if err != nil {
			return &bench.ParamError{Name: "algo", Err: err}
		}
		if text := b.Param("elems"); text != "" {
			if s.NElem, err = strconv.Atoi(text); err != nil || s.NElem < 0 || s.NElem > mostElems {
				return &bench.ParamError{Name: "elems", Err: fmt.Errorf("%q: write a whole number from 0 to %d", text, mostElems)}
			}
		}
		torch.OK(allReduceEntry(b, name, s))
	}
	return nil
}

// mostElems bounds the elements of a rank: no device has room for as many, and all ranks
// together have fewer than a tensor can have.
const mostElems = 1 << 32

// allReduceEntry runs the all-reduce of one entry, and reports a row, notes and a check.
func allReduceEntry(b *bench.B, name string, s ccl.Settings) error {
	there, unit := b.NumPEs(), "PEs"
	if b.Param("ranks-per") == "sip" {
		there, unit = b.Topology().Spec().System.SIPs.Count, "SIPs"
	}
	ranks := cmp.Or(s.WorldSize, there)
	var err error
	if s.Algorithm != ccl.Auto {
		_, err = ccl.Find(s.Algorithm, ccl.AllReduce)
	}
	if ranks > there {
		err = fmt.Errorf("world size %d, and there are %d %s", ranks, there, unit)
	}
	if err != nil && b.Param("algo") == name {
		return &bench.ParamError{Name: "algo", Err: fmt.Errorf("%s: %w", name, err)}
	}
	if err != nil {
		b.Notef("%s: skipped: %v", name, err)
		return nil
	}
	t := exactTypes[b.Param("dtype")]
	addends := exactAddends(ranks, t.limit)
	got, last := make([]*torch.Array, ranks), dist.Stats{}
	if unit == "SIPs" {
		torch.OK(b.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			got[rank], last = allReduce(r, s, t.dtype, addends[rank:rank+1])
			return nil
		}, ranks))
	} else {
		var all *torch.Array
		if all, last = allReduce(b.Rank, s, t.dtype, addends, torch.On(b.AllPEs()[:ranks]...)); all != nil {
			for rank := range got {
				size := len(all.Bytes) / ranks
				got[rank] = &torch.Array{Shape: torch.Shape{s.NElem}, DType: t.dtype, Bytes: all.Bytes[rank*size : (rank+1)*size]}
			}
		}
	}
	b.Row(allReduceRow{name, last.Algorithm, last.Buffer, ranks, s.NElem, last.Crit, last.Spread})
	if b.HasData() {
		sum := 0
		for _, v := range addends {
			sum += v
		}
		reportRanks(b, name, got, sum)
	}
	return nil
}

// exactAddends is what ranks start with: 1, 2, 3 and so on, from 1 again where the sum
// would be above a limit, and nothing for those that are too many even so. Whoever
// adds any of them in any order stays within the limit.
func exactAddends(ranks, limit int) []int {
	again, total := ranks, func(p int) int { q, r := ranks/p, ranks%p; return q*p*(p+1)/2 + r*(r+1)/2 }
	for again > 1 && total(again) > limit {
		again--
	}
	addends := make([]int, ranks)
	for rank := range min(ranks, limit) {
		addends[rank] = rank%again + 1
	}
	return addends
}

// allReduce sums tensors that have n_elem times each of the addends. It returns what comes
// out, nil without values, and what the collective took.
func allReduce(r *torch.Rank, s ccl.Settings, dtype torch.DType, addends []int, on ...torch.TensorOption) (sum *torch.Array, took dist.Stats) {
	torch.OK(dist.InitProcessGroup(r, dist.Backend, dist.Settings(s)))
	x := torch.Must(r.FromFunc(func(i int) float64 { return float64(addends[i/s.NElem]) }, dtype, torch.Shape{len(addends) * s.NElem}, on...))
	work := torch.Must(dist.AllReduceAsync(r, x, dist.SUM))
	torch.OK(work.Wait())
	if r.HasData() {
		sum = torch.Must(x.Numpy())
	}
	torch.OK(x.Free())
	torch.OK(dist.DestroyProcessGroup(r))
	return sum, work.Stats()
}

// shownRanks is how many of the ranks that are wrong are told of one by one.
const shownRanks = 5

// reportRanks compares what each rank got with the sum that it should have.
func reportRanks(b *bench.B, name string, got []*torch.Array, sum int) {
	check := torch.Check{Name: name}
	failed := 0
	for rank, a := range got {
		check.Elems += a.Len()
		i := 0
		for i < a.Len() && a.At(i) == float64(sum) {
			i++
		}
		if i == a.Len() {
			continue
		}
		if failed++; failed > shownRanks {
			continue
		}
		text := fmt.Sprintf("rank %d: element %d is %s, want %d", rank, i, strconv.FormatFloat(a.At(i), 'f', -1, 64), sum)
		check.Wrong = cmp.Or(check.Wrong, text)
		b.Notef("%s", text)
	}
	b.AddCheck(check)
	if failed > 0 {
		b.Notef("%s (ws=%d): %d OK / %d FAIL", name, len(got), len(got)-failed, failed)
	} else {
		b.Notef("%s (ws=%d): %d OK", name, len(got), len(got))
	}
}
