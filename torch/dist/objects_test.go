package dist_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// checkpoint is a typical object that programs exchange.
type checkpoint struct {
	Name  string
	Step  int
	Rates map[string]float64
	Next  *checkpoint
	Data  []byte
}

// checkpointOf returns a checkpoint whose values and encoded size depend on the rank.
func checkpointOf(rank int) checkpoint {
	return checkpoint{
		Name: strings.Repeat("x", 40*rank), Step: rank, Rates: map[string]float64{"a": 0.1 * float64(rank)},
		Next: &checkpoint{Step: -rank - 1}, Data: []byte{byte(rank), 255},
	}
}

// runOnWorlds runs a worker on each rank of worlds of 1, 3, 5 and 7 ranks, with and without
// values, and checks that both runs take the same simulated time.
func runOnWorlds(t *testing.T, run worker) {
	t.Helper()
	for _, n := range []int{1, 3, 5, 7} {
		var times [2]torch.Time
		for i, without := range []bool{false, true} {
			o := trialOptions(t)(trial{spawned: true, world: n})
			o.NoData = without
			l := hostedtest.New(t, o)
			err := l.Spawn(func(r *torch.Rank) error {
				torch.OK(dist.InitProcessGroup(r, "ahbm"))
				return run(r)
			}, n)
			if err != nil {
				t.Fatalf("%d ranks, without values %v: %v", n, without, err)
			}
			times[i] = l.Now()
		}
		if times[0] != times[1] || times[0] == 0 && n > 1 {
			t.Errorf("%d ranks take %v with values and %v without", n, times[0], times[1])
		}
	}
}

// checkEqual returns an error if got differs from want. `what` names the value in the
// error.
func checkEqual(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s is %+v, want %+v", what, got, want)
	}
	return nil
}

// TestAllGatherObject checks that every rank gets the objects of all ranks.
func TestAllGatherObject(t *testing.T) {
	runOnWorlds(t, func(self *torch.Rank) error {
		rank := self.Rank()
		own := checkpointOf(rank)
		got, err := dist.AllGatherObject(self, own)
		if err != nil {
			return err
		}
		var want []checkpoint
		for r := range dist.GetWorldSize(self) {
			want = append(want, checkpointOf(r))
		}
		if got[rank].Next == own.Next || &got[rank].Data[0] == &own.Data[0] {
			return errors.New("the copy shares memory with the object")
		}
		own.Rates["a"] = 99
		return checkEqual("the list", got, want)
	})
}

// TestGatherObject checks that only the destination gets the objects of all ranks.
func TestGatherObject(t *testing.T) {
	runOnWorlds(t, func(self *torch.Rank) error {
		n := dist.GetWorldSize(self)
		got, err := dist.GatherObject(self, fmt.Sprint("rank ", self.Rank()), n/2)
		var want []string
		for r := 0; self.Rank() == n/2 && r < n; r++ {
			want = append(want, fmt.Sprint("rank ", r))
		}
		return errors.Join(err, checkEqual("the list", got, want))
	})
}

// TestBroadcastObjectList checks that every rank gets the objects of the source.
func TestBroadcastObjectList(t *testing.T) {
	runOnWorlds(t, func(r *torch.Rank) error {
		n := dist.GetWorldSize(r)
		list := []any{nil, "other", r.Rank()}
		want := []any{3.5, strings.Repeat("long", 300), []int{1, 2, 3}}
		if r.Rank() == n-1 {
			copy(list, want)
		}
		err := dist.BroadcastObjectList(r, list, n-1)
		return errors.Join(err, checkEqual("the list", list, want))
	})
}

// TestScatterObjectList checks that every rank gets its object from the list of the source.
func TestScatterObjectList(t *testing.T) {
	runOnWorlds(t, func(self *torch.Rank) error {
		var list []checkpoint
		if self.Rank() == 0 {
			for r := range dist.GetWorldSize(self) {
				list = append(list, checkpointOf(r))
			}
		}
		got, err := dist.ScatterObjectList(self, list, 0)
		return errors.Join(err, checkEqual("the object", got, checkpointOf(self.Rank())))
	})
}

// TestSendObjectList checks lists of objects that each rank sends to the last rank. For
// each rank, the last rank receives one list from any source and one from that rank.
func TestSendObjectList(t *testing.T) {
	runOnWorlds(t, func(self *torch.Rank) error {
		rank := self.Rank()
		last := dist.GetWorldSize(self) - 1
		if rank < last {
			torch.OK(dist.SendObjectList(self, []checkpoint{checkpointOf(rank), checkpointOf(rank + 1)}, last))
			return dist.SendObjectList(self, []string{fmt.Sprint(rank)}, last)
		}
		for r := range last {
			list := make([]checkpoint, 2)
			source, err := dist.RecvObjectList(self, list, dist.AnySource)
			err = errors.Join(err, checkEqual("the source", source, r), checkEqual("the list", list, []checkpoint{checkpointOf(r), checkpointOf(r + 1)}))
			text := make([]string, 1)
			source, again := dist.RecvObjectList(self, text, r)
			if err := errors.Join(err, again, checkEqual("the source", source, r), checkEqual("the list", text, []string{fmt.Sprint(r)})); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestObjectsOfAGroup checks that roots of object collectives are ranks of the world, and
// that lists are in the order of the group.
func TestObjectsOfAGroup(t *testing.T) {
	_, err := hostedtest.Spawn(t, 5, func(r *torch.Rank) error {
		rank := r.Rank()
		g := torch.Must(dist.NewGroup(r, []int{4, 0, 3}, dist.KeepOrder()))
		if dist.GetRank(r, g) < 0 {
			return nil
		}
		for range 2 {
			all, err := dist.AllGatherObject(r, rank, g)
			list := []int{rank}
			err = errors.Join(err, checkEqual("all", all, []int{4, 0, 3}), dist.BroadcastObjectList(r, list, 3, g), checkEqual("list", list, []int{3}))
			var parts []int
			if rank == 0 {
				parts = []int{10, 20, 30}
			}
			part, again := dist.ScatterObjectList(r, parts, 0, g)
			if err := errors.Join(err, again, checkEqual("part", part, 10*(dist.GetRank(r, g)+1))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTheTimeOfObjects measures AllGatherObject of strings, and then the same steps done by
// hand: an all-gather of one size per rank, a read of the sizes, an all-gather of the bytes
// (padded to the longest encoded object), and a read of the bytes. It checks that both take
// the same simulated time.
func TestTheTimeOfObjects(t *testing.T) {
	var times [2]torch.Time
	var longest bytes.Buffer
	torch.OK(gob.NewEncoder(&longest).Encode(strings.Repeat("x", 992)))
	n := longest.Len()
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		measure := func(i int, do func() error) {
			torch.OK(torch.Must(dist.BarrierAsync(r)).Wait())
			start := r.Now()
			torch.OK(do())
			times[i] = r.Now() - start
		}
		measure(0, func() error { return hostedtest.Second(dist.AllGatherObject(r, strings.Repeat("x", 990+r.Rank()))) })
		measure(1, func() error {
			sizes, all := torch.Must(r.Empty(torch.I64, torch.Shape{3})), torch.Must(r.Empty(torch.U8, torch.Shape{3 * n}))
			torch.OK(dist.AllGatherIntoTensor(r, sizes, torch.Must(r.FromSlice([]int{0}, torch.I64, torch.Shape{1}))))
			torch.Must(sizes.Numpy())
			torch.OK(dist.AllGatherIntoTensor(r, all, torch.Must(r.FromSlice(make([]uint8, n), torch.U8, torch.Shape{n}))))
			return hostedtest.Second(all.Numpy())
		})
		return nil
	})
	if err != nil || times[0] != times[1] || times[0] == 0 {
		t.Errorf("error %v; objects take %v, the same tensors %v", err, times[0], times[1])
	}
}

// TestMisuseOfObjects checks the errors for wrong calls that exchange objects.
func TestMisuseOfObjects(t *testing.T) {
	for _, c := range []struct {
		ranks []int
		do    worker
		want  string
	}{
		{[]int{0, 1, 2}, func(r *torch.Rank) error {
			return hostedtest.Second(dist.AllGatherObject(r, func() {}))
		}, "all_gather_object: object 0 of type func() cannot be encoded: gob NewTypeObject can't handle type: func(): use types that encoding/gob takes"},
		{[]int{2}, func(r *torch.Rank) error {
			own := []*checkpoint{{}, {}, nil}[r.Rank()]
			return hostedtest.Second(dist.AllGatherObject(r, own))
		}, "all_gather_object: object 0 of type *dist_test.checkpoint cannot be encoded: it is a nil pointer: use types that encoding/gob takes"},
		{[]int{0}, func(r *torch.Rank) error {
			own := checkpointOf(r.Rank())
			if r.Rank() == 0 {
				own.Next = &own
			}
			return hostedtest.Second(dist.AllGatherObject(r, own))
		}, "all_gather_object: object 0 of type dist_test.checkpoint cannot be encoded: it refers to itself, or is nested more than 200000 deep: use types that encoding/gob takes"},
		{[]int{0, 1, 2}, func(r *torch.Rank) error {
			list := make([]any, 3)
			list[1] = map[string]any{"list": list}
			return dist.BroadcastObjectList(r, []any{7, list}, r.Rank())
		}, "broadcast_object_list: object 1 of type interface {} cannot be encoded: it refers to itself, or is nested more than 200000 deep: use types that encoding/gob takes"},
		{[]int{1}, func(r *torch.Rank) error {
			if r.Rank() == 0 {
				return dist.BroadcastObjectList(r, []string{"x"}, 0)
			}
			return dist.BroadcastObjectList(r, []int{1}, 0)
		}, "broadcast_object_list: the object of rank 0 is no int: gob: "},
		{[]int{2}, func(r *torch.Rank) error {
			return dist.BroadcastObjectList(r, make([]int, 1+r.Rank()/2), 0)
		}, "the ranks do not agree: ranks 0, 1: broadcast of i64 [1], root 0"},
		{[]int{0, 1, 2}, func(r *torch.Rank) error {
			return dist.BroadcastObjectList[int](r, nil, 0)
		}, "torch: broadcast_object_list: a list of no objects"},
		{[]int{0, 1, 2}, func(r *torch.Rank) error {
			return hostedtest.Second(dist.ScatterObjectList(r, []int{1, 2}, 0))
		}, "torch: scatter_object_list: 2 objects to send, want 3: one for each rank"},
		{[]int{0, 1, 2}, func(r *torch.Rank) error {
			return hostedtest.Second(dist.ScatterObjectList(r, []int{1, 2}, 0))
		}, "torch: scatter_object_list: 2 objects to send, want 0: the root alone gives a list"},
		{[]int{1}, func(r *torch.Rank) error {
			if r.Rank() == 1 {
				return hostedtest.Second(dist.RecvObjectList(r, make([]int, 1), 0))
			}
			if r.Rank() == 0 {
				return dist.Send(r, torch.Must(r.Zeros(torch.I64, torch.Shape{1})), 1, 0)
			}
			return nil
		}, "recv_object_list: rank 0 has sent a tensor: send objects with SendObjectList"},
		{[]int{2}, func(r *torch.Rank) error {
			g := torch.Must(dist.NewGroup(r, []int{0, 1}))
			return hostedtest.Second(dist.AllGatherObject(r, 1, g))
		}, "all_gather_object: rank 2 is not in group 1"},
		{[]int{1}, func(r *torch.Rank) error {
			if r.Rank() == 1 {
				return nil
			}
			return hostedtest.Second(dist.AllGatherObject(r, 1))
		}, "rank 1: returned without all_gather 1 of the default group, for which ranks 0, 2 wait"},
	} {
		_, err := hostedtest.Spawn(t, 3, c.do)
		hostedtest.Blames(t, err, c.ranks, c.want)
	}
	l := hostedtest.PEs(t, 3)
	hostedtest.Says(t, "without Spawn", hostedtest.Misuse(func() { dist.AllGatherObject(l.Rank, 1) }), "torch: all_gather_object: objects are those of workers of Spawn")
}

// clock is an object that encodes itself and refers to itself. Package gob calls its
// MarshalBinary and does not look at its fields.
type clock struct {
	Own  *clock
	self *clock
}

func (c clock) MarshalBinary() ([]byte, error)     { return []byte("noon"), nil }
func (c *clock) UnmarshalBinary(data []byte) error { c.self = c; return nil }

// TestObjectsThatEncodeThemselves checks that an object may refer to itself in parts that
// are not encoded.
func TestObjectsThatEncodeThemselves(t *testing.T) {
	runOnWorlds(t, func(r *torch.Rank) error {
		own := &clock{}
		own.Own, own.self = own, own
		got, err := dist.AllGatherObject(r, map[string]*clock{"now": own})
		if err != nil {
			return err
		}
		copied := got[len(got)-1]["now"]
		return checkEqual("the copy", copied, &clock{self: copied})
	})
}
