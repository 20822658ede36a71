package dist_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// divide divides list into k parts and returns part i. All parts have the same size,
// rounded up, except that the last parts may be smaller or empty.
func divide(list []int, i, k int) []int {
	per := (len(list) + k - 1) / k
	from := min(i*per, len(list))
	return list[from:min(from+per, len(list))]
}

// bounds returns the first index in list and the number of indices. The indices in list are
// consecutive. If list is empty, start is -1.
func bounds(list []int) (start, extent int) {
	if len(list) == 0 {
		return -1, 0
	}
	return list[0], len(list)
}

// TestEveryTripleOfSplits places a matrix with every combination of splits over SIPs, cubes
// and PEs. No split divides the matrix evenly. It checks the box, copy and addend of each
// shard against lists of rows and columns that are divided in the same way, and checks the
// values.
func TestEveryTripleOfSplits(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=3", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1"), Threads: 1})
	const height, width = 7, 11
	splits := []torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise, torch.Partial}
	var few []torch.DPPolicy
	for _, sip := range splits {
		for _, cube := range splits {
			for _, pe := range splits {
				few = append(few, torch.DPPolicy{SIP: sip, Cube: cube, PE: pe, NumSIPs: 2, NumPEs: 3})
			}
		}
	}
	for _, p := range few {
		x := l.Ints(lists.Count(0, height*width), torch.I16, p, height, width)
		shards := x.Shards()
		if len(shards) != 2*2*3 {
			t.Fatalf("%v: %d shards, want 12", p, len(shards))
		}
		for i, s := range shards {
			rows, cols, copies, addends := lists.Count(0, height), lists.Count(0, width), 0, 0
			place := [3]int{i / 6, i / 3 % 2, i % 3}
			for level, split := range []torch.Split{p.SIP, p.Cube, p.PE} {
				n := [3]int{2, 2, 3}[level]
				switch split {
				case torch.Replicate:
					copies = copies*n + place[level]
				case torch.Partial:
					addends = addends*n + place[level]
				case torch.RowWise:
					rows = divide(rows, place[level], n)
				case torch.ColumnWise:
					cols = divide(cols, place[level], n)
				}
			}
			top, h := bounds(rows)
			left, w := bounds(cols)
			ok := [3]int{s.SIP, s.Cube, s.PE} == place && s.Copy == copies && s.Addend == addends && s.Extent[0] == h && s.Extent[1] == w
			if !ok || h > 0 && s.Start[0] != top || w > 0 && s.Start[1] != left {
				t.Errorf("%v: shard %d is %+v, want rows %v and columns %v, copy %d, addend %d of %v", p, i, s, rows, cols, copies, addends, place)
			}
		}
		if err := l.Check(p.String(), x, lists.Count(0, height*width)); err != nil {
			t.Fatal(err)
		}
		if err := x.Free(); err != nil {
			t.Fatal(err)
		}
	}
	if !l.Checks().OK() {
		t.Errorf("checks %+v", l.Checks())
	}
}

// TestSIPsOfAPolicy checks which SIPs a policy uses. If SIP is Replicate and NumSIPs is 0,
// the policy uses only the device of the rank. It also checks the texts of policies and
// tensors, and the errors for policies that do not fit the system.
func TestSIPsOfAPolicy(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=3")})
	l.SetDevice(2)
	for _, c := range []struct {
		p    torch.DPPolicy
		sips []int
		text string
	}{
		{torch.DPPolicy{NumCubes: 1, NumPEs: 1}, []int{2}, "cube=replicate(1) pe=replicate(1)"},
		{torch.DPPolicy{SIP: torch.RowWise, NumCubes: 1, NumPEs: 1}, []int{0, 1, 2}, "sip=row_wise(all) cube=replicate(1) pe=replicate(1)"},
		{torch.DPPolicy{SIP: torch.ColumnWise, NumSIPs: 2, NumCubes: 1, NumPEs: 1}, []int{0, 1}, "sip=column_wise(2) cube=replicate(1) pe=replicate(1)"},
		{torch.DPPolicy{SIP: torch.Partial, NumSIPs: 1, NumCubes: 1, NumPEs: 1}, []int{0}, "sip=partial(1) cube=replicate(1) pe=replicate(1)"},
		{torch.DPPolicy{NumSIPs: 3, NumCubes: 1, NumPEs: 1}, []int{0, 1, 2}, "sip=replicate(3) cube=replicate(1) pe=replicate(1)"},
	} {
		x := l.Ints(lists.Count(0, 5), torch.F32, c.p)
		var sips []int
		for _, s := range x.Shards() {
			sips = append(sips, s.SIP)
		}
		if !slices.Equal(sips, c.sips) || c.p.String() != c.text {
			t.Errorf("%v on SIPs %v, want %s on %v", c.p, sips, c.text, c.sips)
		}
		device := fmt.Sprintf("sip%d-%d", c.sips[0], c.sips[len(c.sips)-1])
		if len(c.sips) == 1 {
			device = fmt.Sprintf("sip%d", c.sips[0])
		}
		if got, want := x.String(), "tensor([0, 1, 2, 3, 4], dtype=f32, device="+device+")"; got != want {
			t.Errorf("%v: got %s, want %s", c.p, got, want)
		}
	}
	for _, c := range []struct {
		p    torch.DPPolicy
		want string
	}{
		{torch.DPPolicy{SIP: torch.RowWise, NumSIPs: 4}, "torch: DPPolicy: sip=row_wise(4) cube=replicate(all) pe=replicate(all): 4 SIPs, and a system has 3: use 1 to 3, or 0 for all"},
		{torch.DPPolicy{NumSIPs: -1}, "torch: DPPolicy: sip=replicate(-1) cube=replicate(all) pe=replicate(all): -1 SIPs, and a system has 3: use 1 to 3, or 0 for all"},
		{torch.DPPolicy{SIP: 7}, "torch: DPPolicy: sip=Split(7)(all) cube=replicate(all) pe=replicate(all): SIP is not a split: use torch.Replicate, ColumnWise, RowWise or Partial"},
	} {
		err := hostedtest.Misuse(func() { l.Zeros(torch.F32, torch.Shape{4}, c.p) })
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// newOverRanks returns a matrix that the policy p divides by columns over the ranks. Each
// rank has `rows` rows and `cols` columns. value(rank, row, col) is the element at row and
// col of that rank's part.
func newOverRanks(l *hostedtest.Lab, p torch.DPPolicy, rows, cols int, value func(rank, row, col int) int) *torch.Tensor {
	l.T.Helper()
	ranks := len(l.Layout(torch.Shape{1}, p))
	data := make([]int, 0, rows*ranks*cols)
	for row := range rows {
		for i := range ranks * cols {
			data = append(data, value(i/cols, row, i%cols))
		}
	}
	return l.Ints(data, torch.I32, p, rows, ranks*cols)
}

// checkOverRanks checks the elements of each rank in x, a matrix from newOverRanks.
// want(rank, row, col) is the expected element. `what` names the case in messages.
func checkOverRanks(l *hostedtest.Lab, what string, x *torch.Tensor, want func(rank, row, col int) int) {
	l.T.Helper()
	a := torch.Must(x.Numpy())
	cols := x.Shape()[1] / len(x.Shards())
	for i := range a.Len() {
		row, col := i/x.Shape()[1], i%x.Shape()[1]
		if w := want(col/cols, row, col%cols); a.At(i) != float64(w) {
			l.T.Errorf("%s: row %d, column %d of rank %d is %v, want %d", what, row, col%cols, col/cols, a.At(i), w)
			return
		}
	}
}

// TestCollectivesOverSIPs checks the results of every collective in a program without
// Spawn. The tensors are divided by columns over the PEs of several SIPs. Most tensors have
// one row, so that each rank has a vector.
func TestCollectivesOverSIPs(t *testing.T) {
	const n = 5
	columns := torch.DPPolicy{SIP: torch.ColumnWise, Cube: torch.ColumnWise, PE: torch.ColumnWise}
	some := columns
	some.NumSIPs, some.NumCubes, some.NumPEs = 3, 1, 3
	for _, c := range []struct {
		name string
		sips int
		p    torch.DPPolicy
	}{{"all PEs of 2 SIPs", 2, columns}, {"3 PEs of each of 3 SIPs", 3, some}} {
		l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", fmt.Sprintf("system.sips.count=%d", c.sips), "sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1"), Threads: 1})
		torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
		var ranks []int
		for _, s := range l.Layout(torch.Shape{1}, c.p) {
			ranks = append(ranks, l.PE(s.SIP, s.Cube, s.PE))
		}
		g := torch.Must(dist.NewGroup(l.Rank, ranks))
		ws := len(ranks)
		own := func(rank, row, col int) int { return 100*rank + 10*row + col }
		sum := func(row, col int) int { return 100*ws*(ws-1)/2 + ws*(10*row+col) }
		list := func(value func(block, rank, row, col int) int) (tensors []*torch.Tensor) {
			for block := range ws {
				tensors = append(tensors, newOverRanks(l, c.p, 1, n, func(rank, row, col int) int { return value(block, rank, row, col) }))
			}
			return tensors
		}
		blank := func(int, int, int, int) int { return -1 }
		root := ws - 1

		x := newOverRanks(l, c.p, 1, n, own)
		torch.OK(dist.AllReduce(l.Rank, x, dist.SUM, g))
		checkOverRanks(l, c.name+": all_reduce", x, func(_, row, col int) int { return sum(row, col) })

		x = newOverRanks(l, c.p, 3, n, own)
		torch.OK(dist.AllReduce(l.Rank, x, dist.MAX, g))
		checkOverRanks(l, c.name+": all_reduce of 3 rows", x, func(_, row, col int) int { return own(ws-1, row, col) })

		x = newOverRanks(l, c.p, 1, n, own)
		torch.OK(dist.Reduce(l.Rank, x, ranks[root], dist.SUM, g))
		checkOverRanks(l, c.name+": reduce", x, func(rank, row, col int) int {
			if rank == root {
				return sum(row, col)
			}
			return own(rank, row, col)
		})

		x = newOverRanks(l, c.p, 1, n, own)
		torch.OK(dist.Broadcast(l.Rank, x, ranks[root], g))
		checkOverRanks(l, c.name+": broadcast", x, func(_, row, col int) int { return own(root, row, col) })

		x = newOverRanks(l, c.p, 1, n, own)
		out := list(blank)
		torch.OK(dist.AllGather(l.Rank, out, x, g))
		for block, y := range out {
			checkOverRanks(l, c.name+": all_gather", y, func(_, row, col int) int { return own(block, row, col) })
		}

		y := newOverRanks(l, c.p, 1, ws*n, func(int, int, int) int { return -1 })
		torch.OK(dist.AllGatherIntoTensor(l.Rank, y, x, g))
		checkOverRanks(l, c.name+": all_gather_into_tensor", y, func(_, _, col int) int { return own(col/n, 0, col%n) })

		y = newOverRanks(l, c.p, 1, ws*n, own)
		torch.OK(dist.ReduceScatterTensor(l.Rank, x, y, dist.SUM, g))
		checkOverRanks(l, c.name+": reduce_scatter_tensor", x, func(rank, row, col int) int { return sum(row, rank*n+col) })

		in := list(func(block, rank, _, col int) int { return own(rank, block, col) })
		torch.OK(dist.ReduceScatter(l.Rank, x, in, dist.SUM, g))
		checkOverRanks(l, c.name+": reduce_scatter", x, func(rank, _, col int) int { return sum(rank, col) })

		out = list(blank)
		torch.OK(dist.AllToAll(l.Rank, out, in, g))
		for block, y := range out {
			checkOverRanks(l, c.name+": all_to_all", y, func(rank, _, col int) int { return own(block, rank, col) })
		}

		x, y = newOverRanks(l, c.p, ws, n, own), newOverRanks(l, c.p, ws, n, func(int, int, int) int { return -1 })
		torch.OK(dist.AllToAllSingle(l.Rank, y, x, nil, nil, g))
		checkOverRanks(l, c.name+": all_to_all_single", y, func(rank, row, col int) int { return own(row, rank, col) })

		x, out = newOverRanks(l, c.p, 1, n, own), list(blank)
		torch.OK(dist.Gather(l.Rank, x, out, ranks[root], g))
		for block, y := range out {
			checkOverRanks(l, c.name+": gather", y, func(rank, row, col int) int {
				if rank == root {
					return own(block, row, col)
				}
				return -1
			})
		}
		torch.OK(dist.Scatter(l.Rank, x, in, ranks[root], g))
		checkOverRanks(l, c.name+": scatter", x, func(rank, _, col int) int { return own(root, rank, col) })

		x, y = newOverRanks(l, c.p, 1, n, own), newOverRanks(l, c.p, 1, n, func(int, int, int) int { return -1 })
		works := torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{
			{Kind: dist.Sends, Tensor: x, Rank: ranks[0], Peer: ranks[root], Group: g},
			{Kind: dist.Recvs, Tensor: y, Rank: ranks[root], Peer: ranks[0], Group: g},
		}))
		torch.OK(errors.Join(works[0].Wait(), works[1].Wait()))
		checkOverRanks(l, c.name+": a message", y, func(rank, row, col int) int {
			if rank == root {
				return own(0, row, col)
			}
			return -1
		})
	}
}

// TestAllReduceOfAddendsOverSIPs checks that an all-reduce sums the addends on all SIPs and
// turns them into copies.
func TestAllReduceOfAddendsOverSIPs(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=2", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1"), Threads: 1})
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	x := l.Ints(lists.Count(0, 7), torch.F32, torch.DPPolicy{SIP: torch.Partial, Cube: torch.Partial, PE: torch.Partial})
	l.MustLaunch("add", func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{7}, tl.F32).Add(float64(t.Rank())))
	}, x)
	want := make([]int, 7)
	for i := range want {
		want[i] = i + 16*15/2
	}
	l.Holds("addends", x, want)
	torch.OK(dist.AllReduce(l.Rank, x, dist.SUM))
	torch.OK(l.Check("copies", x, want))
	if !l.Checks().OK() || l.Checks()[0].Elems != 16*7 {
		t.Errorf("checks %+v", l.Checks())
	}
}

// TestKernelsOverSIPs checks that a kernel runs on the PEs of all SIPs that hold a tensor,
// and that each PE works on its own box.
func TestKernelsOverSIPs(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "system.sips.count=3"), Threads: 1})
	x := l.Ints(lists.Count(0, 5*14), torch.I32, torch.DPPolicy{SIP: torch.RowWise, Cube: torch.ColumnWise, PE: torch.ColumnWise, NumSIPs: 3, NumCubes: 2, NumPEs: 2}, 5, 14)
	l.MustLaunch("own", func(t *tl.PE, x tl.Ptr) {
		if s := (tl.Shape{x.Dim(0), x.Dim(1)}); s[0]*s[1] > 0 {
			t.Store(x, t.Full(s, tl.I32, float64(t.Rank())))
		}
	}, x)
	want := make([]int, 5*14)
	for i := range want {
		row, col := i/14, i%14
		cube := col / 7
		pe := (col % 7) / 4
		want[i] = row/2*4 + cube*2 + pe
	}
	l.Holds("x", x, want)
}

// TestTensorsOverSIPsUnderSpawn checks that under Spawn, where a rank is a SIP, an
// all-reduce refuses tensors that are divided over several SIPs.
func TestTensorsOverSIPsUnderSpawn(t *testing.T) {
	for _, on := range []torch.Placement{torch.On(0, 128), torch.DPPolicy{SIP: torch.RowWise, NumCubes: 1, NumPEs: 1}} {
		_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
			x := torch.Must(r.Zeros(torch.F32, torch.Shape{4}, on))
			return errors.Join(r.Check("x", x, hostedtest.Fill(0, 4)), dist.AllReduce(r, x, dist.SUM))
		})
		hostedtest.Says(t, fmt.Sprint(on), err, "ranks 0, 1: all_reduce 1 of the default group: two ranks are on sip0.cube0.pe0, since tensor 2 [4] f32 lies over SIPs 0 to 1: under Spawn a rank is a SIP: lay the tensor out on the device of its rank, or call the collective in a program without Spawn")
	}
}
