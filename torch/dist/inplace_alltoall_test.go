package dist_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestTheTimeOfAnAllToAllInPlace checks that an all-to-all in place takes longer than one
// between two tensors, because it first copies the blocks for other ranks.
func TestTheTimeOfAnAllToAllInPlace(t *testing.T) {
	measure := func(inPlace bool) torch.Time {
		l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			x := torch.Must(r.Zeros(torch.F32, torch.Shape{3 * 1029}))
			y := x
			if !inPlace {
				y = torch.Must(r.EmptyLike(x))
			}
			return dist.AllToAllSingle(r, y, x, nil, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		return dist.Last(l.Context).Crit
	}
	if apart, same := measure(false), measure(true); apart.String() != "920.244955ns" || same.String() != "1015.244955ns" {
		t.Errorf("into another tensor it takes %v, want 920.244955ns; in place %v, want 1015.244955ns", apart, same)
	}
}

// TestAnAllToAllOfTheSameViews checks an all-to-all whose two lists have different views of
// the same elements. Such an all-to-all must run in place and take the same time as an
// all-to-all on the tensor itself.
func TestAnAllToAllOfTheSameViews(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := torch.Must(r.FromSlice(lists.Count(3*1029*r.Rank(), 3*1029), torch.F32, torch.Shape{3 * 1029}))
		torch.OK(dist.AllToAll(r, x.Chunk(3, 0), x.Chunk(3, 0)))
		var want []int
		for source := range 3 {
			want = append(want, lists.Count(3*1029*source+1029*r.Rank(), 1029)...)
		}
		return r.Check("x", x, want)
	})
	if err != nil || !l.Checks().OK() || len(l.Checks()) != 3 {
		t.Fatalf("%v, checks %+v", err, l.Checks())
	}
	if took := dist.Last(l.Context).Crit.String(); took != "1015.244955ns" {
		t.Errorf("it takes %s, want 1015.244955ns, as in place", took)
	}
}

// TestTheMemoryOfAnAllToAllInPlace checks that the copies of an all-to-all in place occupy
// device memory only until the end of the collective.
func TestTheMemoryOfAnAllToAllInPlace(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=3", "cube.hbm.slice_size=32KiB")})
	run := func(rows int) error {
		return l.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, "ahbm"))
			x := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{rows}))
			for range 3 { // the memory has space for one copy only
				torch.OK(dist.AllToAllSingle(r, x, x, nil, nil))
			}
			torch.OK(r.Synchronize())
			want := lists.Count(0, rows)
			for i := range want {
				want[i] /= rows / 3
			}
			torch.OK(r.Check("x", x, want))
			return x.Free()
		}, 3)
	}
	torch.OK(run(3 * 1500))
	if !l.Checks().OK() || len(l.Checks()) != 3 {
		t.Errorf("checks %+v", l.Checks())
	}
	hostedtest.Blames(t, run(3*2000), []int{0, 1, 2}, "all_to_all 1 of the default group: copies of what all_to_all 1 of the default group sends: sip0.cube0.hbm0: out of memory: asked 16000B")
}

// TestAnAllToAllOfListsThatOverlap checks that an all-to-all is refused if its two lists
// have tensors in common but are not the same list.
func TestAnAllToAllOfListsThatOverlap(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		x := []*torch.Tensor{hostedtest.Full(r, 0, 1), hostedtest.Full(r, 1, 1), hostedtest.Full(r, 2, 1), hostedtest.Full(r, 3, 1)}
		return dist.AllToAll(r, x[1:], x[:3])
	})
	hostedtest.Blames(t, err, []int{0, 1, 2}, "torch: all_to_all: tensor 2 [1] f32 is to be sent and received into, and the lists differ: receive into the tensors that are sent, in their order, or into others")
}
