package torch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// phaseNames returns the name of each phase.
func phaseNames(phases []torch.Phase) (names []string) {
	for _, p := range phases {
		names = append(names, p.Name)
	}
	return names
}

// checkContiguous checks the phases of a profile; began is the time at which the profile
// started. Each phase must begin at the end of the previous one, and the parts of its
// breakdown must add up to its time. checkContiguous returns the end of the last phase.
// `what` names the case in messages.
func checkContiguous(t *testing.T, what string, began torch.Time, phases []torch.Phase) torch.Time {
	t.Helper()
	at := began
	var all torch.Breakdown
	for _, p := range phases {
		if p.Start != at || p.Total() != p.End-p.Start || p.End < p.Start {
			t.Errorf("%s: %q is from %v to %v, of parts that are %v together; it has to begin at %v", what, p.Name, p.Start, p.End, p.Total(), at)
		}
		if p.OverlappedMemory > p.Compute || p.OverlappedComm > p.Compute || min(p.Compute, p.Memory, p.Comm, p.Idle, p.OverlappedMemory, p.OverlappedComm) < 0 {
			t.Errorf("%s: parts of %q: %+v", what, p.Name, p.Breakdown)
		}
		at, all = p.End, all.Add(p.Breakdown)
	}
	if all.Total() != at-began {
		t.Errorf("%s: all phases together are %v, want %v", what, all.Total(), at-began)
	}
	return at
}

// triple is a kernel that multiplies n elements by 3 in place.
func triple(t *tl.PE, x tl.Ptr, n int) { t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Mul(3)) }

// TestProfileWithoutSpawn profiles two equal launches of a program without Spawn, with a
// copy through the host between the launches. It checks that the copy counts as Idle of the
// second launch, and that the two breakdowns are otherwise equal.
func TestProfileWithoutSpawn(t *testing.T) {
	const n = 1000
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x, y := l.MustZeros(torch.F32, torch.On(0, 1, 9), 3*n), l.MustZeros(torch.F32, torch.On(0), 10*n)
	l.MustLaunch("before", triple, x, n)
	began := l.Now()
	p, err := l.Profile()
	if err != nil {
		t.Fatal(err)
	}
	first, err := l.Launch("first", triple, x, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.CopyFrom(hostedtest.Fill(1, 10*n)); err != nil {
		t.Fatal(err)
	}
	second, err := l.Launch("second", triple, x, n)
	if err != nil {
		t.Fatal(err)
	}
	phases, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	end := checkContiguous(t, "the program", began, phases)
	if got, want := fmt.Sprint(phaseNames(phases)), "[first second]"; got != want {
		t.Fatalf("phases %s, want %s", got, want)
	}
	if want := second.Start() + second.Crit(); end != want || first.Start()+first.Crit() != phases[0].End {
		t.Errorf("phases end at %v and %v, want %v and %v", phases[0].End, end, first.Start()+first.Crit(), want)
	}
	a, b := phases[0].Breakdown, phases[1].Breakdown
	a.Idle -= first.Start() - began
	b.Idle -= second.Start() - phases[0].End
	if a != b || a.Idle < 0 {
		t.Errorf("without the way to it the first is %+v, the second %+v", a, b)
	}
	l.MustLaunch("after", triple, x, n)
	if len(phases) != 2 {
		t.Errorf("phases %v after the end of the profile", phaseNames(phases))
	}
}

// TestProfileOfRanks checks the phases of two ranks that run launches, collectives and
// messages at the same time. The barrier does not wait for the messages, so its phase comes
// before theirs.
func TestProfileOfRanks(t *testing.T) {
	const n = 4000
	want := [][]string{
		{"triple", "all_reduce(ring)", "triple", "barrier(tree)", "sendrecv(direct)"},
		{"triple", "all_reduce(ring)", "barrier(tree)", "sendrecv(direct)"},
	}
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, 1, n)
		p, err := r.Profile()
		if err != nil {
			return err
		}
		began := r.Now()
		_, err = r.Launch("triple", triple, x, n*(1+rank)/2)
		err = errors.Join(err, dist.AllReduce(r, x, dist.SUM))
		if rank == 0 {
			_, again := r.Launch("triple", triple, x, n)
			err = errors.Join(err, again, dist.Send(r, x, 1, 0))
		} else {
			err = errors.Join(err, dist.Recv(r, x, 0, 0))
		}
		if err = errors.Join(err, dist.Barrier(r)); err != nil {
			return err
		}
		phases, err := p.Stop()
		what := fmt.Sprint("rank ", rank)
		end := checkContiguous(t, what, began, phases)
		if got := phaseNames(phases); !slices.Equal(got, want[rank]) {
			t.Errorf("%s: phases %q, want %q", what, got, want[rank])
		} else {
			reduce := phases[1]
			if reduce.Comm == 0 || phases[0].Compute == 0 || phases[0].Memory == 0 || phases[0].Comm != 0 {
				t.Errorf("%s: a launch without messages %+v, and a collective %+v", what, phases[0].Breakdown, reduce.Breakdown)
			}
		}
		if end != r.Now() {
			t.Errorf("%s: the last phase ends at %v, and the rank has waited until %v", what, end, r.Now())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestProfileOfAsyncCollectives checks the phases of launches and of a collective that
// overlaps them on other PEs and ends last. The phase of the collective must begin at the
// end of the last launch.
func TestProfileOfAsyncCollectives(t *testing.T) {
	const n = 20000
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, 1, n)
		y, err := r.Full(1, torch.F32, torch.Shape{n}, torch.On(r.PE(rank, 0, 3)))
		if err != nil {
			return err
		}
		p, err := r.Profile()
		if err != nil {
			return err
		}
		began := r.Now()
		w, err := dist.AllReduceAsync(r, x, dist.SUM)
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := r.Launch("overlapped", triple, y, n/4); err != nil {
				return err
			}
		}
		if err := w.Wait(); err != nil {
			return err
		}
		phases, err := p.Stop()
		checkContiguous(t, fmt.Sprint("rank ", rank), began, phases)
		got := strings.Join(phaseNames(phases), ", ")
		if want := "overlapped, overlapped, overlapped, all_reduce(ring)"; got != want {
			t.Errorf("rank %d: phases %s, want %s", rank, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestProfileOfOneRank checks that a profile has only the phases of its rank between
// Profile and Stop. The three ranks have a profile one after another, while all of them run
// launches.
func TestProfileOfOneRank(t *testing.T) {
	const n = 1000
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := hostedtest.Full(r, 1, n)
		for turn := range 3 {
			var p *torch.Profile
			var began torch.Time
			if turn == rank {
				var err error
				if p, err = r.Profile(); err != nil {
					return err
				}
				began = r.Now()
			}
			if _, err := r.Launch(fmt.Sprint("turn ", turn), triple, x, n); err != nil {
				return err
			}
			if err := dist.AllReduce(r, x, dist.MAX); err != nil {
				return err
			}
			if p == nil {
				continue
			}
			phases, err := p.Stop()
			if err != nil {
				return err
			}
			checkContiguous(t, fmt.Sprint("rank ", rank), began, phases)
			want := []string{fmt.Sprint("turn ", turn), "all_reduce(ring)"}
			if got := phaseNames(phases); !slices.Equal(got, want) {
				t.Errorf("rank %d: phases %q, want %q", rank, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAProfileTakesNoTime checks that profiles take no simulated time, and that an empty
// profile has no phases.
func TestAProfileTakesNoTime(t *testing.T) {
	const n = 1000
	var ends [2]torch.Time
	for i, profile := range []bool{false, true} {
		l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
			x := hostedtest.Full(r, 1, n)
			if err := r.Synchronize(); err != nil {
				return err
			}
			var p *torch.Profile
			if profile {
				empty := torch.Must(r.Profile())
				if phases, err := empty.Stop(); len(phases) > 0 || err != nil {
					t.Errorf("an empty profile has phases %q and error %v", phaseNames(phases), err)
				}
				p = torch.Must(r.Profile())
			}
			_, err := r.Launch("triple", triple, x, n)
			err = errors.Join(err, dist.AllReduce(r, x, dist.SUM))
			if profile {
				_, stopped := p.Stop()
				err = errors.Join(err, stopped)
			}
			return errors.Join(err, r.Synchronize())
		})
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = l.Now()
	}
	if ends[0] != ends[1] {
		t.Errorf("with profiles it ends at %v, want %v", ends[1], ends[0])
	}
}

// TestProfileMisuse checks the errors for a second profile of a rank and for a second Stop.
func TestProfileMisuse(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	p := torch.Must(l.Profile())
	stop := func() { p.Stop() }
	again := func() { l.Profile() }
	for _, c := range []struct {
		name, want string
		f          func()
	}{
		{"a second profile", "torch: Profile: this rank keeps a profile already: Stop it first", again},
		{"Stop", "", stop},
		{"Stop again", "torch: Stop: the profile was stopped before", stop},
		{"another profile", "", again},
		{"Stop of the first", "torch: Stop: the profile was stopped before", stop},
	} {
		err := hostedtest.Misuse(c.f)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && got != c.want {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
}

// TestProfileOfALateRank checks that waiting for a rank that is late at a collective counts
// as Comm, not as Idle.
func TestProfileOfALateRank(t *testing.T) {
	const late = torch.Time(1e9) // 1 µs
	spawned := func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.Zeros(torch.F32, torch.Shape{8}))
		torch.OK(dist.AllReduce(r, x, dist.SUM)) // both ranks continue at the same time
		p := torch.Must(r.Profile())
		if rank == 1 {
			torch.Must(r.Launch("busy", func(t *tl.PE, x tl.Ptr) {
				for range 100 {
					t.Store(x, t.Load(x, tl.Shape{8}, tl.F32))
				}
			}, x))
		}
		torch.OK(dist.AllReduce(r, x, dist.SUM))
		phases := torch.Must(p.Stop())
		last := phases[len(phases)-1]
		if rank == 0 && last.Comm < late || rank == 1 && last.Comm > late {
			return fmt.Errorf("rank %d: %v of %v", rank, last.Breakdown, last.Name)
		}
		return nil
	}
	if _, err := hostedtest.Spawn(t, 2, spawned); err != nil {
		t.Error(err)
	}
}

// TestProfileOfALateRankToCoalescedCollectives checks that waiting for a late rank counts
// as Comm for coalesced collectives, too. The collectives run in one program or, on
// different PEs, in two programs.
func TestProfileOfALateRankToCoalescedCollectives(t *testing.T) {
	for _, second := range []int{0, 1} {
		_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			rank := r.Rank()
			var list []*torch.Tensor
			for _, pe := range []int{0, second} {
				list = append(list, torch.Must(r.Zeros(torch.F32, torch.Shape{7}, torch.On(r.PE(rank, 0, pe)))))
			}
			p, began := torch.Must(r.Profile()), r.Now()
			if rank == 1 {
				for range 40 {
					torch.Must(list[0].Numpy())
				}
			}
			late := r.Now() - began // how late rank 1 is
			torch.OK(dist.AllReduceCoalesced(r, list, dist.SUM))
			phases := torch.Must(p.Stop())
			checkContiguous(t, fmt.Sprint("rank ", rank), began, phases)
			if idle := phases[0].Idle; len(phases) != 1+second || rank == 1 && idle < late || rank != 1 && idle > torch.Time(1e9) {
				t.Errorf("two tensors on PEs 0 and %d, rank %d: phases %+v", second, rank, phases)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
