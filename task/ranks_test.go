package task

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// previous returns the previous rank in the ring of all ranks.
func previous(t *tl.PE) int { return (t.Rank() + t.NumRanks() - 1) % t.NumRanks() }

// next returns the next rank in the ring of all ranks.
func next(t *tl.PE) int { return (t.Rank() + 1) % t.NumRanks() }

// push puts the rows `own` of this rank into the box of the next rank, and notifies the
// next rank.
func push(t *tl.PE, own, box tl.Ptr, signal int) {
	forRows(t, own, func(first int, s tl.Shape) {
		t.Put(next(t), box.At(first), t.Load(own.At(first), s, tl.I32))
	})
	t.Notify(next(t), signal, tl.Add, 1)
}

// pull waits until the given signal counts the given number of pushes. Then it computes own
// = 3·own + box.
func pull(t *tl.PE, own, box tl.Ptr, signal, pushes int) {
	t.WaitSignal(signal, tl.GE, pushes)
	forRows(t, own, func(first int, s tl.Shape) {
		t.Store(own.At(first), t.Load(own.At(first), s, tl.I32).Mul(3).Add(t.Load(box.At(first), s, tl.I32)))
	})
}

// publish copies the rows `own` to the rows `out`.
func publish(t *tl.PE, own, out tl.Ptr) {
	forRows(t, own, func(first int, s tl.Shape) { t.Store(out.At(first), t.Load(own.At(first), s, tl.I32)) })
}

// tell notifies the next rank that the rows `out` of this rank are complete. It does not
// access these rows: the argument makes the task wait for publish, which writes them.
func tell(t *tl.PE, out tl.Ptr, signal int) { t.Notify(next(t), signal, tl.Set, 1) }

// fetch waits for the given signal. Then it gets the rows `out` of the previous rank and
// computes own = own - 2·out.
func fetch(t *tl.PE, own, out tl.Ptr, signal int) {
	t.WaitSignal(signal, tl.EQ, 1)
	forRows(t, own, func(first int, s tl.Shape) {
		t.Store(own.At(first), t.Load(own.At(first), s, tl.I32).Sub(t.Get(previous(t), out.At(first), s, tl.I32).Mul(2)))
	})
}

// ringJob returns a job in which the ranks of a ring push, pull, publish, tell and fetch in
// each of `count` rounds. Each of these tasks handles `height` rows. A tell has one member,
// and each other task has the given number of members. If `explicit` is set, each task has
// an edge from the previous one.
func ringJob(ranks, count, height, members int, explicit bool) *job {
	shape := func(n int) tl.Shape { return tl.Shape{n * height, 3} }
	submit := func(b *Builder, x []*Tensor) {
		own := x[0]
		var last []ID
		then := func(name string, kernel any, args ...Arg) {
			options := []Option{Group(members)}
			if name == "tell" {
				options = nil
			}
			if explicit {
				options = append(options, After(last...))
			}
			last = []ID{b.Submit(name, kernel, args, options...)}
		}
		for k := range count {
			box, out := x[1].Rows(k*height, height), x[2].Rows(k*height, height)
			arrived, there := Scalar("signal", 2*k), Scalar("signal", 2*k+1)
			then("push", push, In("own", own), AtPeers("box", box), arrived)
			then("pull", pull, InOut("own", own), InOut("box", box), arrived, Scalar("pushes", members))
			then("publish", publish, In("own", own), Out("out", out))
			then("tell", tell, In("out", out), there)
			then("fetch", fetch, InOut("own", own), AtPeers("out", out), there)
		}
	}
	init := func(rank, i int) int32 { return int32(100*rank + i) }
	return &job{ranks: ranks, arrays: []array{{shape(1), init}, {shape: shape(count)}, {shape: shape(count)}}, submit: submit}
}

// ringResult returns the values that ringJob must compute in `count` rounds.
func (j *job) ringResult(count int) contents {
	all := j.initialContents()
	own, box, out := all[0], all[1], all[2]
	elems := len(own[0])
	for k := range count {
		for rank := range own {
			copy(box[(rank+1)%j.ranks][k*elems:], own[rank])
		}
		for rank := range own {
			for i := range elems {
				own[rank][i] = 3*own[rank][i] + box[rank][k*elems+i]
			}
			copy(out[rank][k*elems:], own[rank])
		}
		for rank := range own {
			for i := range elems {
				own[rank][i] -= 2 * out[(rank+j.ranks-1)%j.ranks][k*elems+i]
			}
		}
	}
	return all
}

// TestRanksInARing checks that ranks that put, get and wait for each other's signals
// compute the same values under all runtimes, on the simulated machine and on real ranks.
// The simulated runs must have no races, and their spans must say which tasks communicate
// with other ranks.
func TestRanksInARing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 4).Draw(t, "ranks")
		count := rapid.IntRange(1, 4).Draw(t, "rounds")
		height := rapid.IntRange(1, 5).Draw(t, "rows")
		cores := rapid.IntRange(1, 3).Draw(t, "cores")
		members := rapid.IntRange(1, cores).Draw(t, "members")
		runtime := rapid.SampledFrom(Runtimes).Draw(t, "runtime")
		explicit := !runtime.infers() || rapid.Bool().Draw(t, "explicit")
		_, r := drawTasks(t, 1)

		j := ringJob(ranks, count, height, members, explicit)
		want := j.ringResult(count)
		o := Options{Runtime: runtime, Config: drawConfig(r, j.program(t, 0), cores), Signals: 2 * count}
		out := j.mustRunSimulated(t, o, torch.Options{KeepLog: true, Threads: 1, Race: true})
		out.checkEqual(t, "simulated", want)
		if len(out.races) > 0 {
			t.Errorf("races %q", out.races)
		}
		for _, s := range out.Spans {
			if want := s.Name != "publish"; s.Peers != want {
				t.Errorf("%s communicates with other ranks: %v, want %v", s.Name, s.Peers, want)
			}
		}
		got, errs := j.runReal(o)
		for rank, err := range errs {
			if err != nil {
				t.Fatalf("real rank %d: %v", rank, err)
			}
		}
		got.checkEqual(t, "real", want)
	})
}

// TestPlaceOfKernels checks where kernels of tasks seem to run: a kernel sees its member as
// its PE and its rank as its SIP, both on the simulated machine and on real ranks.
func TestPlaceOfKernels(t *testing.T) {
	where := func(t *tl.PE, x tl.Ptr) {
		list := []int{t.Rank(), t.NumRanks()}
		for axis := range 3 {
			list = append(list, t.ProgramID(axis), t.NumPrograms(axis))
		}
		for i, n := range list {
			t.Store(x.At(t.ProgramID(0), i), t.Full(tl.Shape{1}, tl.I32, float64(n)))
		}
	}
	j := &job{ranks: 2, arrays: []array{{shape: []int{2, 8}}}, submit: func(b *Builder, x []*Tensor) {
		b.Submit("where", where, Args{Out("x", x[0])}, Group(2))
	}}
	want := contents{{
		{0, 2, 0, 2, 0, 1, 0, 2, 0, 2, 1, 2, 0, 1, 0, 2},
		{1, 2, 0, 2, 0, 1, 1, 2, 1, 2, 1, 2, 0, 1, 1, 2},
	}}
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: Default()}
		j.mustRunSimulated(t, o, torch.Options{}).checkEqual(t, "simulated", want)
		got, errs := j.runReal(o)
		if errs[0] != nil || errs[1] != nil {
			t.Fatal(errs)
		}
		got.checkEqual(t, "real", want)
	}
}
