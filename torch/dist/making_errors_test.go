package dist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// idle does the work of Making.Make for a producer that computes nothing: the function that
// it returns has no steps.
func idle(*tl.PE, int, int) func() bool { return func() bool { return false } }

// TestMakingReducesAddends checks that AllReduceMaking also reduces the addends of a
// partial tensor, like AllReduce.
func TestMakingReducesAddends(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		on := torch.DPPolicy{Cube: torch.Partial, NumCubes: 2, NumPEs: 1}
		x, err := r.Full(float64(r.Rank()+1), torch.F32, torch.Shape{8}, on)
		if err != nil {
			return err
		}
		err = dist.AllReduceMaking(r, dist.Making{Name: "nothing", Make: idle}, []*torch.Tensor{x}, dist.SUM)
		return errors.Join(err, r.Check("x", x, hostedtest.Fill(3, 8)))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestMakingErrors checks which ranks get which error for wrong uses of a producer.
func TestMakingErrors(t *testing.T) {
	rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}
	vector := func(r *torch.Rank, on ...torch.TensorOption) *torch.Tensor {
		return torch.Must(r.Full(1, torch.F32, torch.Shape{8}, on...))
	}
	nothing := dist.Making{Name: "nothing", Make: idle}
	for _, c := range []struct {
		name  string
		ranks []int // the ranks that get the error
		run   worker
		texts []string
	}{
		{"other PEs", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, nothing, []*torch.Tensor{vector(r, rows), vector(r)}, dist.SUM)
		}, []string{"all_reduce 1 of the default group: piece 1 is on other PEs than the first: lay all pieces out alike"}},
		{"other numbers of pieces", []int{0, 1}, func(r *torch.Rank) error {
			list := []*torch.Tensor{vector(r), vector(r)}
			return dist.AllReduceMaking(r, nothing, list[:1+r.Rank()], dist.SUM)
		}, []string{"the ranks do not agree", "all_reduce of 1 pieces overlapped with nothing, sum, f32 [8]", "all_reduce of 2 pieces overlapped with nothing, sum, f32 [8], f32 [8]"}},
		{"other work", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, dist.Making{Name: fmt.Sprint("work ", r.Rank()), Make: idle}, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"the ranks do not agree", "overlapped with work 0", "overlapped with work 1"}},
		{"one that does not make", []int{0, 1}, func(r *torch.Rank) error {
			if r.Rank() == 0 {
				return dist.AllReduce(r, vector(r), dist.SUM)
			}
			return dist.AllReduceMaking(r, nothing, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"the ranks do not agree"}},
		{"a Make that fails", []int{0, 1}, func(r *torch.Rank) error {
			x := vector(r)
			m := dist.Making{Name: "half", Make: func(t *tl.PE, pe, piece int) func() bool {
				if r.Rank() == 1 {
					t.Load(x.Pieces(0, 0, 1, 8, pe)[0].Ptr, tl.Shape{8}, tl.F16)
				}
				return func() bool { return false }
			}}
			return errors.Join(dist.AllReduceMaking(r, m, []*torch.Tensor{x}, dist.SUM), r.Synchronize())
		}, []string{"all_reduce 1 of the default group: kernel half, all_reduce(ring) on sip1.cube0.pe0: Load([8] f16) at making_errors_test.go:", "the pointer is to f32"}},
		{"a later piece that differs", []int{0, 1}, func(r *torch.Rank) error {
			second := torch.Must(r.Zeros(torch.F32, torch.Shape{8 << (3 * r.Rank())}))
			return dist.AllReduceMaking(r, nothing, []*torch.Tensor{vector(r), second}, dist.SUM)
		}, []string{"the ranks do not agree", "f32 [64]"}},
		{"more room than queues leave", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, dist.Making{Name: "n", Make: idle, Room: 2<<20 - 16<<10}, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"all_reduce 1 of the default group: ring has queues of 4 slots of 4KiB in TCM, which has 2MiB, in addition to 2032KiB of the kernel that it overlaps with: use fewer or smaller slots (n_slots, slot_size), or another memory for them (buffer_kind)"}},
		{"more room than there is", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, dist.Making{Name: "n", Make: idle, Room: 1 << 30}, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"torch: Making: n: room of 1073741824 bytes, and a TCM has 2097152"}},
		{"a PE that is not with those beside it", []int{0, 1}, func(r *torch.Rank) error {
			m := dist.Making{Name: "n", Make: idle, Together: func(pe int) []int { return []int{pe + 1} }}
			return dist.AllReduceMaking(r, m, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"n: Together of PE 0 is [1]: it has to be among them"}},
		{"a Make that is nil", []int{0, 1}, func(r *torch.Rank) error {
			m := dist.Making{Name: "n", Make: func(*tl.PE, int, int) func() bool { return nil }}
			return errors.Join(dist.AllReduceMaking(r, m, []*torch.Tensor{vector(r)}, dist.SUM), r.Synchronize())
		}, []string{"n: Make of piece 0 on PE 0 is nil"}},
		{"no pieces", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, nothing, nil, dist.SUM)
		}, []string{"torch: Making: nothing has no pieces, or no Make"}},
		{"no Make", []int{0, 1}, func(r *torch.Rank) error {
			return dist.AllReduceMaking(r, dist.Making{Name: "none"}, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"torch: Making: none has no pieces, or no Make"}},
		{"lists that do not fit", []int{0, 1}, func(r *torch.Rank) error {
			return dist.ReduceScatterMaking(r, nothing, []*torch.Tensor{vector(r)}, nil, dist.SUM)
		}, []string{"torch: reduce_scatter: 1 pieces to receive and 0 to send"}},
		{"too few to send", []int{0, 1}, func(r *torch.Rank) error {
			return dist.ReduceScatterMaking(r, nothing, []*torch.Tensor{vector(r)}, [][]*torch.Tensor{{vector(r)}}, dist.SUM)
		}, []string{"torch: reduce_scatter: 1 tensors to send, want 2: one for each rank"}},
		{"a tensor that is gone", []int{0, 1}, func(r *torch.Rank) error {
			x := vector(r)
			torch.OK(x.Free())
			return dist.AllReduceMaking(r, dist.Making{Name: "n", Make: idle, Using: []*torch.Tensor{x}}, []*torch.Tensor{vector(r)}, dist.SUM)
		}, []string{"has been freed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := hostedtest.Spawn(t, 2, c.run)
			hostedtest.Blames(t, err, c.ranks, c.texts...)
		})
	}
}

// TestMakingNeedsQueues checks that a producer is refused if the algorithm of the group
// needs inboxes.
func TestMakingNeedsQueues(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "pe.ipcq.max_ports=2")})
	err := l.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm("direct")))
		return dist.AllReduceMaking(r, dist.Making{Name: "nothing", Make: idle}, []*torch.Tensor{hostedtest.Full(r, 1, 8)}, dist.SUM)
	}, 6)
	hostedtest.Blames(t, err, []int{0, 1, 2, 3, 4, 5}, "messages that overlap with a kernel go through queues: direct needs 5 ports, and pe.ipcq.max_ports is 2; use fewer ranks, or raise pe.ipcq.max_ports, or choose an algorithm for all_reduce that needs no more: bidirectional_ring, center_root, dual_mesh, mesh, ring, torus")
}

// TestMakingNeedsSpawn checks that a producer is refused in a program without Spawn.
func TestMakingNeedsSpawn(t *testing.T) {
	l := hostedtest.New(t, trialOptions(t)(trial{}))
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	x := l.MustZeros(torch.F32, torch.On(dist.PEs(l.Rank)...), 24)
	err := hostedtest.Misuse(func() {
		torch.OK(dist.AllReduceMaking(l.Rank, dist.Making{Name: "nothing", Make: idle}, []*torch.Tensor{x}, dist.SUM))
	})
	if want := "torch: Making: nothing: a rank has to be a worker of Spawn"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestMakingChoosesQueues checks that auto chooses an algorithm without inboxes while a
// producer runs. Without a producer, auto chooses for this small size a direct exchange,
// although it needs inboxes.
func TestMakingChoosesQueues(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6", "pe.ipcq.max_ports=2")})
	var alone, overlapped string
	err := l.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm("auto")))
		x := hostedtest.Full(r, r.Rank(), 8)
		torch.OK(dist.AllReduce(r, x, dist.SUM))
		torch.OK(r.Synchronize())
		alone = dist.Last(r.Context).Algorithm
		torch.OK(dist.AllReduceMaking(r, dist.Making{Name: "nothing", Make: idle}, []*torch.Tensor{x}, dist.SUM))
		torch.OK(r.Synchronize())
		overlapped = dist.Last(r.Context).Algorithm
		return r.Check("sum", x, []int{90, 90, 90, 90, 90, 90, 90, 90})
	}, 6)
	if err != nil || !l.Checks().OK() || !strings.HasPrefix(alone, "direct") || strings.HasPrefix(overlapped, "direct") {
		t.Errorf("error %v, checks %+v; %s without a producer and %s with one, want direct only without", err, l.Checks(), alone, overlapped)
	}
}
