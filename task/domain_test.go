package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// swap puts row x of this rank into the given peer's part of the domain tensor `box`, and
// notifies the peer.
func swap(t *tl.PE, x, box tl.Ptr, peer int) {
	t.Put(peer, box, t.Load(x, tl.Shape{3}, tl.I32))
	t.Notify(peer, 0, tl.Add, 1)
}

// gatherRows waits until the given number of rows has arrived in the boxes a and b. It
// overwrites the padding next to the boxes, and stores the sum of both boxes in x.
func gatherRows(t *tl.PE, x, a, b, pad tl.Ptr, rows int) {
	t.WaitSignal(0, tl.GE, rows)
	t.Store(pad, t.Full(tl.Shape{5}, tl.U8, 255))
	t.Store(x, t.Load(a, tl.Shape{3}, tl.I32).Add(t.Load(b, tl.Shape{3}, tl.I32)))
}

// TestDomains checks the values that ranks exchange through two domains with one common
// rank. The memory of the domains must be separate. The test also checks the member numbers
// that each rank sees.
func TestDomains(t *testing.T) {
	var seen [3][]int
	j := &job{ranks: 3, arrays: []array{{shape: tl.Shape{3}, init: func(rank, i int) int32 { return int32(10*rank + i) }}}, submit: func(b *Builder, x []*Tensor) {
		low, high := b.Domain("low", 1, 0), b.Domain("high", 2, 1)
		seen[b.Rank()] = []int{low.Rank(), high.Rank(), low.RankOf(2), low.RankOf(1), low.World(1), high.World(0), low.Size()}
		var boxes []*Tensor
		var pad *Tensor
		rows := 0
		for _, d := range []*Domain{low, high} {
			if d.Rank() < 0 {
				continue
			}
			pad = d.Tensor("pad", tl.U8, tl.Shape{5})
			box := d.Tensor("box", tl.I32, tl.Shape{3})
			boxes = append(boxes, box)
			b.Submit("swap", swap, Args{In("x", x[0]), AtPeers("box", box), Scalar("peer", d.World(1-d.Rank()))})
			rows++
		}
		first, last := boxes[0], boxes[len(boxes)-1]
		args := Args{Out("x", x[0]), InOut("a", first), In("b", last), Out("pad", pad), Scalar("rows", rows)}
		if rows == 1 {
			args[2] = In("b", first)
		}
		b.Submit("gather", gatherRows, args, After(0, ID(rows-1)))
	}}
	want := contents{{{20, 22, 24}, {20, 22, 24}, {20, 22, 24}}} // twice rank 1's row; the sum of rank 0's and 2's rows; twice rank 1's row
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: Default(), Signals: 1}
		for range 2 {
			j.mustRunSimulated(t, o, torch.Options{KeepLog: true}).checkEqual(t, string(r), want)
		}
		got, errs := j.runReal(o)
		commtest.Succeed(t, errs)
		got.checkEqual(t, string(r)+", on real ranks", want)
	}
	if want := [3][]int{{1, -1, -1, 0, 0, 2, 2}, {0, 1, -1, 0, 0, 2, 2}, {-1, 0, -1, 0, 0, 2, 2}}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the ranks see %v, want %v", seen, want)
	}
}

// TestDomainMemory checks that the memory of a domain is zero at the start of each run,
// whatever it held before, and that it is freed after the run.
func TestDomainMemory(t *testing.T) {
	self := newSystem(t, "ring6", torch.Options{}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "system.sips.count=2")
	all := torch.On(self.PE(0, 0, 0), self.PE(1, 0, 0))
	x, err := self.Zeros(torch.I32, torch.Shape{4}, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range slices.Concat(Runtimes, Runtimes) {
		_, err := Run(self, Options{Runtime: r}, func(b *Builder) {
			own := b.Tensor(x)
			y := b.Domain("all").Tensor("y", tl.I32, tl.Shape{2})
			got := b.Submit("sum", mix, Args{In("x", own), In("y", y), Out("z", own), Scalar("c", 1)})
			b.Submit("dirty", fill, Args{Out("x", y), Scalar("c", 1000)}, After(got))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := x.Numpy()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Float64s(), []float64{6, 6, 6, 6}; !slices.Equal(got, want) {
		t.Errorf("x is %v, want %v: a domain was not zero", got, want)
	}
	// A domain that needs two thirds of the memory fits in each of several runs.
	n := int(self.Topology().Spec().Cube.HBM.SliceSize) / 3 * 2
	quiet := newSystem(t, "ring6", torch.Options{NoData: true}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "system.sips.count=2")
	for range 3 {
		_, err := Run(quiet, Options{Runtime: AICPUBuildGraph}, func(b *Builder) {
			b.Domain("all").Tensor("large", tl.U8, tl.Shape{n / 4096, 4096})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = Run(quiet, Options{Runtime: AICPUBuildGraph}, func(b *Builder) {
		b.Domain("all").Tensor("large", tl.U8, tl.Shape{n / 4096, 4096})
		b.Domain("again").Tensor("large", tl.U8, tl.Shape{n / 4096, 4096})
	})
	if err == nil || !strings.HasPrefix(err.Error(), "domain again: ") {
		t.Errorf("two domains of two thirds of the memory each: %v, want that the second does not fit", err)
	}
}

// TestPutOutsideOfADomain checks the error for a kernel that accesses domain memory at a
// rank that is not a member of the domain.
func TestPutOutsideOfADomain(t *testing.T) {
	put := func(t *tl.PE, x tl.Ptr) { t.Put(1, x, t.Zeros(tl.Shape{1}, tl.I32)) }
	j := &job{ranks: 3, submit: func(b *Builder, _ []*Tensor) {
		if d := b.Domain("ends", 0, 2); d.Rank() == 0 {
			b.Submit("put", put, Args{AtPeers("x", d.Tensor("x", tl.I32, tl.Shape{1}))})
		} else if d.Rank() == 1 {
			d.Tensor("x", tl.I32, tl.Shape{1})
		}
	}}
	o := Options{Runtime: AICPUBuildGraph, Config: Default()}
	_, err := j.runSimulated(t, o, torch.Options{})
	_, errs := j.runReal(o)
	const want = "rank 1 has no part of ends.x [1] i32: the members of the domain are [0 2]"
	for where, err := range map[string]error{"simulated": err, "real": errs[0]} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", where, err, want)
		}
	}
}

// TestMistakesOfDomains checks the errors for wrong arguments of Domain and of its methods.
func TestMistakesOfDomains(t *testing.T) {
	for _, c := range []struct {
		name   string
		submit func(b *Builder)
		want   string
	}{
		{"no such rank", func(b *Builder) { b.Domain("a", 0, 3) }, "Domain at L: domain a: no rank 3: there are 0 to 2"},
		{"a rank twice", func(b *Builder) { b.Domain("a", 1, 0, 1) }, "Domain at L: domain a: rank 1 is in the list twice"},
		{"no name", func(b *Builder) { b.Domain("") }, "Domain at L: domain : the name is empty: give it one"},
		{"a name twice", func(b *Builder) { b.Domain("a", 1); b.Domain("a") }, "Domain at L: domain a: there is one of this name: give each a name of its own"},
		{"no member", func(b *Builder) { b.Domain("a", 0, 2).Tensor("x", tl.F32, nil) }, "Tensor at L: domain a: rank 1 is none of its members, which are [0 2]: ask Rank first"},
		{"no such member", func(b *Builder) { b.Domain("a", 0, 2).World(2) }, "World at L: domain a has no member 2: there are 0 to 1"},
		{"of all ranks", func(b *Builder) { b.Domain("a").Tensors("x", tl.F32, nil) }, "Tensors at L: domain a: the orchestration is for rank 1 alone: Tensor makes its part"},
		{"long axes", func(b *Builder) {
			d := b.Domain("a")
			d.Tensor("none", tl.I32, tl.Shape{1 << 30, 1 << 30, 1 << 30, 0})
			d.Tensor("most", tl.I32, tl.Shape{1 << 30, 1 << 14})
			d.Tensor("x", tl.I32, tl.Shape{1 << 30, 1 << 30, 1 << 30}) // the size overflows to 0 in 64 bits
		}, "Tensor at L: a.x [1073741824 1073741824 1073741824] i32: a tensor of a domain has at most 70368744177664 bytes at each rank"},
		{"one row too many", func(b *Builder) { b.Domain("a").Tensor("x", tl.I32, tl.Shape{1 << 30, 1<<14 + 1}) },
			"Tensor at L: a.x [1073741824 16385] i32: a tensor of a domain has at most 70368744177664 bytes at each rank"},
		{"no dtype", func(b *Builder) { b.Domain("a").Tensor("x", 99, tl.Shape{1}) }, "Tensor at L: a.x [1] DType(99): a tensor has a dtype and up to 4 axes, each of 0 to 2147483647 elements"},
	} {
		_, err := Build(t.Context(), 1, 3, c.submit)
		if got, want := replaceLines(fmt.Sprint(err)), "the orchestration of rank 1: "+c.want; got != want {
			t.Errorf("%s: got\n     %s\nwant %s", c.name, got, want)
		}
	}
	_, err := BuildAll(t.Context(), 2, func(b *Builder) { b.Domain("a").Tensor("x", tl.F32, nil) })
	if got, want := replaceLines(fmt.Sprint(err)), "the orchestration: Tensor at L: domain a: the orchestration is for all ranks: Tensors makes the parts of all members"; got != want {
		t.Errorf("all ranks: got\n     %s\nwant %s", got, want)
	}
}

// TestDomainsThatDiffer checks the error for members that create different domains. It must
// name the ranks and the domains.
func TestDomainsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(b *Builder)
		want string // on the simulated machine
		real string // on real ranks
	}{
		{"another size", func(b *Builder) {
			b.Domain("a", 0, 2).Tensor("x", tl.I32, tl.Shape{100 + b.Rank()})
		}, "rank 2 makes the domain a of [0 2] with x [102] i32, and rank 0 makes the domain a of [0 2] with x [100] i32: " + sameRule,
			"rank 2 makes the domain a of [0 2] with x [102] i32, and rank 0 another one of that size: " + sameRule},
		{"another order", func(b *Builder) {
			for i := range 2 {
				b.Domain(string(rune('a'+(i+b.Rank()/2)%2)), 0, 2).Tensor("x", tl.I32, tl.Shape{4})
			}
		}, "rank 2 makes the domain b of [0 2] with x [4] i32, and rank 0 makes the domain a of [0 2] with x [4] i32: " + sameRule,
			"rank 2 makes the domain b of [0 2] with x [4] i32, and rank 0 another one of that size: " + sameRule},
		{"much larger", func(b *Builder) {
			b.Domain("a", 0, 2).Tensor("x", tl.I32, tl.Shape{100 * (1 + b.Rank())})
		}, "rank 2 makes the domain a of [0 2] with x [300] i32, and rank 0 makes the domain a of [0 2] with x [100] i32: " + sameRule,
			"rank 2 makes a window of 1280 bytes and 0 signals, rank 0 one of 512 bytes and 0 signals"},
		{"of fewer", func(b *Builder) {
			if b.Rank() == 0 {
				b.Domain("a", 0, 2)
			}
		}, "rank 2 makes no such domain, and rank 0 makes the domain a of [0 2]: " + sameRule,
			"a deadlock, every rank waits: rank 0: window, all have it, rank 2; "},
	} {
		j := &job{ranks: 3, submit: func(b *Builder, _ []*Tensor) {
			if b.Rank() != 1 {
				c.make(b)
			}
		}}
		o := Options{Runtime: AICPUBuildGraph, Config: Default()}
		if _, err := j.runSimulated(t, o, torch.Options{}); fmt.Sprint(err) != c.want {
			t.Errorf("%s: got\n     %v\nwant %s", c.name, err, c.want)
		}
		_, errs := j.runReal(o)
		if err := errs[2]; err == nil || !strings.Contains(err.Error(), c.real) {
			t.Errorf("%s, on real ranks: got\n     %v\nwant %s", c.name, err, c.real)
		}
	}
}
