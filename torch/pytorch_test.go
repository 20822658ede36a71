package torch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// recorded holds the results of PyTorch that testdata/pytorch.py has recorded.
type recorded struct {
	Views []struct {
		Shape      torch.Shape
		Op         string
		Args       []int
		Contiguous []bool
		Parts      []struct {
			Shape  torch.Shape
			Values []int
		}
	}
	Files []struct {
		NPY    []byte // base64 in the file
		DType  string
		Shape  torch.Shape
		Values []float64
	}
	Worlds []struct{ Ranks []recordedRank }
}

// recordedRank holds the results of one rank of a world.
type recordedRank struct {
	NewGroup struct {
		Given, Ranks []int
		GroupRank    []int `json:"group_rank"` // in the order of the sorted ranks
		GlobalRank   []int `json:"global_rank"`
		Rank, Size   int
	} `json:"new_group"`
	NewSubgroups struct {
		Size int
		Mine []int
	} `json:"new_subgroups"`
	NewSubgroupsRefused bool `json:"new_subgroups_refused"`
	ByEnumeration       struct {
		Lists [][]int
		Mine  []int
		Rank  int
	} `json:"by_enumeration"`
	AllToAllSingle struct {
		Send, Receive, In, Out []int
	} `json:"all_to_all_single"`
	AllToAllEven struct {
		In, Out []int
	} `json:"all_to_all_even"`
	AnySource           [][2]int         `json:"any_source"`
	SendToSelf          string           `json:"send_to_self"`
	BroadcastObjectList []recordedObject `json:"broadcast_object_list"`
	AllGatherObject     [][]any          `json:"all_gather_object"`
	GatherObject        []int            `json:"gather_object"`
	ScatterObjectList   string           `json:"scatter_object_list"`
	AllReduceCoalesced  [][]int          `json:"all_reduce_coalesced"`
	MonitoredBarrier    struct {
		Error string
	} `json:"monitored_barrier"`
}

type recordedObject struct {
	Rank int
	List []int
}

// readRecorded returns the recorded results of PyTorch.
func readRecorded(t *testing.T) (r recorded) {
	t.Helper()
	text, err := os.ReadFile("testdata/pytorch.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Views) == 0 || len(r.Files) == 0 || len(r.Worlds) == 0 {
		t.Fatal("testdata/pytorch.json lacks views, files or worlds")
	}
	return r
}

// TestViewsLikePyTorch checks that views have the same shapes and values as in PyTorch, and
// are contiguous in the same cases.
func TestViewsLikePyTorch(t *testing.T) {
	for _, c := range readRecorded(t).Views {
		l := hostedtest.New(t, torch.Options{})
		x := l.Ints(lists.Count(0, elements(c.Shape)), torch.I32, nil, c.Shape...)
		var parts []*torch.Tensor
		one := func(y *torch.Tensor) { parts = []*torch.Tensor{y} }
		switch c.Op {
		case "view":
			one(x.View(c.Args...))
		case "narrow":
			one(x.Narrow(c.Args[0], c.Args[1], c.Args[2]))
		case "select":
			one(x.Select(c.Args[0], c.Args[1]))
		case "split":
			parts = x.Split(c.Args[0], c.Args[1])
		case "chunk":
			parts = x.Chunk(c.Args[0], c.Args[1])
		default:
			t.Fatalf("no operation %s", c.Op)
		}
		if len(parts) != len(c.Parts) {
			t.Errorf("%s%v of %v: got %d tensors, want %d", c.Op, c.Args, c.Shape, len(parts), len(c.Parts))
			continue
		}
		for i, y := range parts {
			if got, want := y.Shape(), c.Parts[i].Shape; !slices.Equal(got, want) {
				t.Errorf("%s%v of %v: part %d has shape %v, want %v", c.Op, c.Args, c.Shape, i, got, want)
				continue
			}
			l.Holds(c.Op, y, c.Parts[i].Values)
			if got := y.IsContiguous(); got != c.Contiguous[i] {
				t.Errorf("%s%v of %v: part %d is contiguous: %v, want %v", c.Op, c.Args, c.Shape, i, got, c.Contiguous[i])
			}
		}
	}
}

// elements returns the number of elements of a tensor with the given shape.
func elements(shape torch.Shape) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// TestFilesLikePyTorch checks that tensors from files that NumPy wrote have the right shape
// and values, and that Save writes the same file again.
func TestFilesLikePyTorch(t *testing.T) {
	for i, c := range readRecorded(t).Files {
		name := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(name, c.NPY, 0o666); err != nil {
			t.Fatal(err)
		}
		l := hostedtest.New(t, torch.Options{})
		array, err := torch.LoadNumpy(name)
		if err != nil {
			t.Fatal(err)
		}
		if isBool := c.DType == "bool"; array.Bool != isBool {
			t.Errorf("file %d: got bools: %v, want %v", i, array.Bool, isBool)
		}
		for _, src := range []any{name, array} {
			x, err := l.FromNumpy(src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Numpy()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Shape, c.Shape) || !slices.Equal(got.Float64s(), c.Values) {
				t.Errorf("file %d from %T: got %v %v, want %v %v", i, src, got.Shape, got.Float64s(), c.Shape, c.Values)
			}
		}
		if err := array.Save(name); err != nil {
			t.Fatal(err)
		}
		if saved, err := os.ReadFile(name); err != nil || !slices.Equal(saved, c.NPY) {
			t.Errorf("file %d: got %q, %v after Save, want the bytes that NumPy wrote", i, saved, err)
		}
	}
}

// TestWorldsLikePyTorch runs the program of pytorch.py in worlds of 3, 5 and 7 ranks and
// checks that all results equal the results of PyTorch.
func TestWorldsLikePyTorch(t *testing.T) {
	for _, world := range readRecorded(t).Worlds {
		n := len(world.Ranks)
		_, err := hostedtest.Spawn(t, n, func(r *torch.Rank) error {
			checkLikePyTorch(t, r.Rank(), n, r, world.Ranks[r.Rank()])
			return nil
		})
		if err != nil {
			t.Errorf("world of %d: %v", n, err)
		}
	}
}

// checkLikePyTorch runs the program of pytorch.py on one rank and checks that the results
// equal want. `self` is this rank, `rank` is its number, and n is the number of ranks.
func checkLikePyTorch(t *testing.T, rank, n int, self *torch.Rank, want recordedRank) {
	same := func(what string, got, want any) {
		if !cmp.Equal(got, want) {
			t.Errorf("rank %d of %d: %s: %s", rank, n, what, cmp.Diff(want, got))
		}
	}
	tensor := func(values []int) *torch.Tensor {
		return torch.Must(self.FromSlice(values, torch.I64, torch.Shape{len(values)}))
	}
	values := func(x *torch.Tensor) []int {
		list := []int{}
		for _, v := range torch.Must(x.Numpy()).Float64s() {
			list = append(list, int(v))
		}
		return list
	}

	g := torch.Must(dist.NewGroup(self, want.NewGroup.Given))
	same("ranks", dist.GetProcessGroupRanks(self, g), want.NewGroup.Ranks)
	for i, r := range want.NewGroup.Ranks {
		same("GetGroupRank", dist.GetGroupRank(self, g, r), want.NewGroup.GroupRank[i])
		same("GetGlobalRank", dist.GetGlobalRank(self, g, i), want.NewGroup.GlobalRank[i])
	}
	same("GetRank", dist.GetRank(self, g), want.NewGroup.Rank)
	same("GetWorldSize", dist.GetWorldSize(self, g), want.NewGroup.Size)
	own, _, err := dist.NewSubgroups(self, want.NewSubgroups.Size)
	torch.OK(err)
	same("NewSubgroups", own.Ranks(), want.NewSubgroups.Mine)
	same("NewSubgroups that leave a rest", hostedtest.Misuse(func() { _, _, _ = dist.NewSubgroups(self, n-1) }) != nil, want.NewSubgroupsRefused)
	own, _, err = dist.NewSubgroupsByEnumeration(self, want.ByEnumeration.Lists)
	torch.OK(err)
	same("NewSubgroupsByEnumeration", own.Ranks(), want.ByEnumeration.Mine)
	same("rank by enumeration", dist.GetRank(self, own), want.ByEnumeration.Rank)

	uneven := want.AllToAllSingle
	x, y := tensor(uneven.In), torch.Must(self.Zeros(torch.I64, torch.Shape{len(uneven.Out)}))
	torch.OK(dist.AllToAllSingle(self, y, x, uneven.Receive, uneven.Send))
	same("AllToAllSingle", values(y), uneven.Out)
	x = tensor(want.AllToAllEven.In)
	torch.OK(dist.AllToAllSingle(self, x, x, nil, nil))
	same("AllToAllSingle in place", values(x), want.AllToAllEven.Out)

	if one := tensor([]int{10 * rank}); rank > 0 {
		torch.OK(dist.Send(self, one, 0, 0))
	} else {
		var got [][2]int
		for range n - 1 {
			source := torch.Must(dist.RecvAny(self, one, 0))
			got = append(got, [2]int{source, values(one)[0]})
		}
		slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
		same("RecvAny", got, want.AnySource)
	}
	same("Send to the rank itself is refused", hostedtest.Misuse(func() { _ = dist.Send(self, tensor([]int{0}), rank, 0) }) != nil, want.SendToSelf != "")

	var list []*torch.Tensor
	for _, k := range []int{3, 1, 5} {
		list = append(list, tensor(lists.Count(rank, k)))
	}
	torch.OK(dist.AllReduceCoalesced(self, list, dist.SUM))
	for i, x := range list {
		same("AllReduceCoalesced", values(x), want.AllReduceCoalesced[i])
	}

	objects := []recordedObject{{}}
	if rank == 1 {
		objects[0] = recordedObject{rank, lists.Count(0, rank)}
	}
	torch.OK(dist.BroadcastObjectList(self, objects, 1))
	same("BroadcastObjectList", objects, want.BroadcastObjectList)
	everyone := torch.Must(dist.AllGatherObject(self, []any{"r", float64(rank)}))
	same("AllGatherObject", everyone, want.AllGatherObject)
	same("GatherObject", torch.Must(dist.GatherObject(self, rank*rank, n-1)), want.GatherObject)
	var texts []string
	if rank == 0 {
		for r := range n {
			texts = append(texts, fmt.Sprintf("to %d", r))
		}
	}
	same("ScatterObjectList", torch.Must(dist.ScatterObjectList(self, texts, 0)), want.ScatterObjectList)

	if rank == n-1 {
		return // rank 0 must name this rank, which does not reach the barrier
	}
	err = dist.MonitoredBarrier(self, 2*time.Millisecond, true)
	if rank == 0 {
		_, last, _ := strings.Cut(want.MonitoredBarrier.Error, ": Ranks ")
		last, _, _ = strings.Cut(last, " ")
		if err == nil || !strings.Contains(err.Error(), "rank "+last) {
			t.Errorf("MonitoredBarrier: got %v, want an error that names rank %s", err, last)
		}
	}
}
