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

// exactTypes maps the name of a dtype to the dtype and its limit: the dtype represents
// every whole number up to the limit exactly.
var exactTypes = map[string]struct {
	dtype torch.DType
	limit int
}{
	"f16": {torch.F16, 1 << 11}, "bf16": {torch.BF16, 1 << 8}, "f32": {torch.F32, 1 << 24}, "i32": {torch.I32, 1<<31 - 1},
}

// runAllReduce runs an all-reduce for each entry of ccl.yaml, or only for the entry that
// the parameter algo names.
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
			if s.NElem, err = strconv.Atoi(text); err != nil || s.NElem < 0 || s.NElem > maxElems {
				return &bench.ParamError{Name: "elems", Err: fmt.Errorf("%q: write a whole number from 0 to %d", text, maxElems)}
			}
		}
		torch.OK(allReduceEntry(b, name, s))
	}
	return nil
}

// maxElems is an upper bound on the elements of a rank. No device has the capacity for
// more, and the elements of all ranks still fit into one tensor.
const maxElems = 1 << 32

// allReduceEntry runs an all-reduce with the settings of one entry of ccl.yaml. It adds a
// row, notes and a check to the result. If the system cannot run the entry, it adds only a
// note; it returns an error instead if the parameter algo names the entry.
func allReduceEntry(b *bench.B, name string, s ccl.Settings) error {
	available, unit := b.NumPEs(), "PEs"
	if b.Param("ranks-per") == "sip" {
		available, unit = b.Topology().Spec().System.SIPs.Count, "SIPs"
	}
	ranks := cmp.Or(s.WorldSize, available)
	var err error
	if s.Algorithm != ccl.Auto {
		_, err = ccl.Find(s.Algorithm, ccl.AllReduce)
	}
	if ranks > available {
		err = fmt.Errorf("world size %d, and there are %d %s", ranks, available, unit)
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

// exactAddends returns the value that each rank starts with: 1, 2, 3 and so on. The values
// start again at 1 as often as needed to keep the sum at most `limit`. If there are more
// ranks than `limit`, the last ranks start with 0. Every partial sum, in any order, is at
// most `limit`.
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

// allReduce runs an all-reduce of a tensor that contains each addend s.NElem times. It
// returns the tensor after the all-reduce and the statistics of the collective. The first
// result is nil if values are not computed.
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

// shownRanks is the number of wrong ranks that are reported one by one.
const shownRanks = 5

// reportRanks checks that every element of each rank's result equals `sum`. It adds a check
// and notes to the result of the bench.
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
