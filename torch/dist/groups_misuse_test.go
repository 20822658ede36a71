package dist_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestMisuseOfGroupsByWorkers checks the whole text of the errors for wrong calls by a
// worker.
func TestMisuseOfGroupsByWorkers(t *testing.T) {
	zeros := func(r *torch.Rank, shape ...int) *torch.Tensor {
		x, err := r.Zeros(torch.F32, shape)
		if err != nil {
			panic(err)
		}
		return x
	}
	for _, c := range []struct {
		name string
		do   func(r *torch.Rank) error // on rank 1 of 3
		want string
	}{
		{"a collective before InitProcessGroup", func(r *torch.Rank) error {
			return errors.Join(dist.DestroyProcessGroup(r), dist.AllReduce(r, zeros(r, 4), dist.SUM))
		}, "torch: all_reduce: there is no process group: call InitProcessGroup first"},
		{"GetRank before it", func(r *torch.Rank) error {
			err := dist.DestroyProcessGroup(r)
			dist.GetRank(r)
			return err
		}, "torch: GetRank: there is no process group: call InitProcessGroup first"},
		{"InitProcessGroup twice", func(r *torch.Rank) error {
			return dist.InitProcessGroup(r, "ahbm")
		}, "InitProcessGroup: called twice: DestroyProcessGroup comes first"},
		{"a wrong backend", func(r *torch.Rank) error {
			return errors.Join(dist.DestroyProcessGroup(r), dist.InitProcessGroup(r, "nccl"))
		}, `InitProcessGroup: no backend "nccl": there is "ahbm"`},
		{"another group than others", func(r *torch.Rank) error {
			_, err := dist.NewGroup(r, []int{1, 2})
			return err
		}, "NewGroup: rank 1 makes group 1 of ranks [1 2], rank 0 made it of [0 2]: all ranks make the same groups in the same order"},
		{"another order than others", func(r *torch.Rank) error {
			_, err := dist.NewGroup(r, []int{2, 0}, dist.KeepOrder())
			return err
		}, "NewGroup: rank 1 makes group 1 of ranks [2 0], rank 0 made it of [0 2]: all ranks make the same groups in the same order"},
		{"a group of a rank twice", func(r *torch.Rank) error {
			_, err := dist.NewGroup(r, []int{1, 1})
			return err
		}, "torch: NewGroup: ranks [1 1]: each is one of 0 to 2, once"},
		{"a group of others", func(r *torch.Rank) error {
			_, err := dist.NewGroup(r, []int{1, 3})
			return err
		}, "torch: NewGroup: ranks [1 3]: each is one of 0 to 2, once"},
		{"an empty group", func(r *torch.Rank) error {
			_, err := dist.NewGroup(r, nil)
			return err
		}, "torch: NewGroup: a group of no ranks"},
		{"not a member", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			return errors.Join(err, dist.AllReduce(r, zeros(r, 4), dist.SUM, g))
		}, "all_reduce: rank 1 is not in group 1, which has ranks 0, 2: call it on these alone"},
		{"not a member of a barrier", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			return errors.Join(err, dist.Barrier(r, g))
		}, "barrier: rank 1 is not in group 1, which has ranks 0, 2: call it on these alone"},
		{"not a member, to send", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			return errors.Join(err, dist.Send(r, zeros(r, 4), 2, 0, g))
		}, "Send: rank 1 is not in group 1, which has ranks 0, 2: call it on these alone"},
		{"a root outside", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			return errors.Join(err, dist.Broadcast(r, zeros(r, 4), 1, g))
		}, "torch: broadcast: the root, rank 1, is not in group 1, which has ranks 0, 2: give a rank of the world, such as GetGlobalRank returns"},
		{"two groups", func(r *torch.Rank) error {
			return dist.AllReduce(r, zeros(r, 4), dist.SUM, nil, nil)
		}, "torch: all_reduce: 2 groups: give one"},
		{"an unknown group", func(r *torch.Rank) error {
			return dist.AllReduce(r, zeros(r, 4), dist.SUM, &dist.Group{})
		}, "torch: all_reduce: the group is not one that this rank has made"},
		{"a message to oneself", func(r *torch.Rank) error {
			return dist.Send(r, zeros(r, 4), 1, 0)
		}, "torch: Send: the peer, rank 1, is the caller: put both ends of the message into one BatchISendIRecv"},
		{"a peer outside the group", func(r *torch.Rank) error {
			return dist.Recv(r, zeros(r, 4), 7, 0)
		}, "torch: Recv: the peer, rank 7, is not in the default group, which has ranks 0-2: give a rank of the world, such as GetGlobalRank returns"},
		{"a message from oneself without its other end", func(r *torch.Rank) error {
			ops := []dist.P2POp{{Kind: dist.Sends, Tensor: zeros(r, 4), Peer: 1, Tag: 3}, {Kind: dist.Recvs, Tensor: zeros(r, 4), Peer: 1, Tag: 4}}
			return hostedtest.Second(dist.BatchISendIRecv(r, ops))
		}, "torch: BatchISendIRecv: rank 1 sends itself 1 messages with tag 3 and receives 0: put both ends of each into one batch"},
		{"no tensor", func(r *torch.Rank) error {
			return dist.AllReduce(r, nil, dist.SUM)
		}, "torch: all_reduce: a nil tensor"},
		{"a freed tensor", func(r *torch.Rank) error {
			x := zeros(r, 4)
			return errors.Join(x.Free(), dist.Broadcast(r, x, 0))
		}, "torch: broadcast: tensor 2 [4] f32 has been freed"},
		{"a freed tensor of a list", func(r *torch.Rank) error {
			x, y := zeros(r, 4), zeros(r, 4)
			return errors.Join(y.Free(), dist.AllGather(r, []*torch.Tensor{x, y, x}, x))
		}, "torch: all_gather: tensor 3 [4] f32 has been freed"},
		{"a reduction of integers", func(r *torch.Rank) error {
			return dist.Reduce(r, zeros(r, 4), 0, dist.BXOR)
		}, "torch: reduce: there is no bxor of f32: avg and premul_sum are for floats, band, bor and bxor for integers"},
		{"a reduction of floats", func(r *torch.Rank) error {
			x, err := r.Zeros(torch.I8, torch.Shape{4})
			return errors.Join(err, dist.AllReduce(r, x, dist.PREMUL_SUM(0.5)))
		}, "torch: all_reduce: there is no premul_sum(0.5) of i8: avg and premul_sum are for floats, band, bor and bxor for integers"},
		{"a short list", func(r *torch.Rank) error {
			x := zeros(r, 4)
			return dist.AllGather(r, []*torch.Tensor{x}, x)
		}, "torch: all_gather: 1 tensors to receive, want 3: one for each rank"},
		{"a list that only the root has", func(r *torch.Rank) error {
			x := zeros(r, 4)
			return dist.Scatter(r, x, []*torch.Tensor{x, x, x}, 0)
		}, "torch: scatter: 3 tensors to send, want 0: the root alone gives a list"},
		{"two dtypes", func(r *torch.Rank) error {
			x := zeros(r, 4)
			y, err := r.Zeros(torch.F16, torch.Shape{4})
			return errors.Join(err, dist.AllToAll(r, []*torch.Tensor{x, x, x}, []*torch.Tensor{x, y, x}))
		}, "torch: all_to_all: tensors of f32 and of f16: all have one dtype"},
		{"a small result", func(r *torch.Rank) error {
			return dist.AllGatherIntoTensor(r, zeros(r, 11), zeros(r, 4))
		}, "torch: all_gather: out is f32 [11], in f32 [4]: out needs 3 times the elements of in, a block for each rank, and the same dtype"},
		{"rows that do not divide", func(r *torch.Rank) error {
			return dist.AllToAllSingle(r, zeros(r, 4, 3), zeros(r, 4, 3), nil, nil)
		}, "torch: all_to_all: 4 rows to send do not divide by 3 ranks: give splits"},
		{"a small source", func(r *torch.Rank) error {
			return dist.ReduceScatterTensor(r, zeros(r, 4), zeros(r, 11), dist.SUM)
		}, "torch: reduce_scatter: in is f32 [11], out f32 [4]: in needs 3 times the elements of out, a block for each rank, and the same dtype"},
		{"splits of other rows", func(r *torch.Rank) error {
			return dist.AllToAllSingle(r, zeros(r, 4), zeros(r, 4), []int{4, 1, -1}, []int{2, 2, 0})
		}, "torch: all_to_all: splits [4 1 -1] to receive: give one for each of 3 ranks, none negative, that add up to 4 rows"},
		{"subgroups that leave a rest", func(r *torch.Rank) error {
			_, _, err := dist.NewSubgroups(r, 2)
			return err
		}, "torch: NewSubgroups: groups of 2 in a world of 3 ranks: the size has to divide the world"},
		{"subgroups of nothing", func(r *torch.Rank) error {
			_, _, err := dist.NewSubgroups(r, 0)
			return err
		}, "torch: NewSubgroups: groups of 0 in a world of 3 ranks: the size has to divide the world"},
		{"no subgroups", func(r *torch.Rank) error {
			_, _, err := dist.NewSubgroupsByEnumeration(r, nil)
			return err
		}, "torch: NewSubgroupsByEnumeration: no groups: give a list of ranks for each"},
		{"subgroups that share a rank", func(r *torch.Rank) error {
			_, _, err := dist.NewSubgroupsByEnumeration(r, [][]int{{0, 1}, {1, 2}})
			return err
		}, "torch: NewSubgroupsByEnumeration: rank 1 is in lists 0 and 1, [0 1] and [1 2]: a rank is in one group"},
		{"a split by another rank than the members", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			return errors.Join(err, hostedtest.Second(dist.SplitGroup(r, g, [][]int{{0, 2}})))
		}, "SplitGroup: rank 1 is not in group 1, which has ranks 0, 2: call it on these alone"},
		{"a split by another list", func(r *torch.Rank) error {
			return hostedtest.Second(dist.SplitGroup(r, nil, [][]int{{0}, {1, 2}}))
		}, "SplitGroup: rank 1 makes group 1 of ranks [0], rank 0 made it of [0 2]: all ranks make the same groups in the same order"},
		{"a rank that a group lacks", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			dist.GetGroupRank(r, g, 1)
			return err
		}, "torch: GetGroupRank: rank 1 is not in group 1 of ranks [0 2]"},
		{"a rank beyond a group", func(r *torch.Rank) error {
			g, err := dist.NewGroup(r, []int{0, 2})
			dist.GetGlobalRank(r, g, 2)
			return err
		}, "torch: GetGlobalRank: no rank 2 in group 1 of ranks [0 2]: it has 0 to 1"},
		{"PEs of workers", func(r *torch.Rank) error {
			dist.PEs(r)
			return nil
		}, "torch: PEs: a rank is a SIP under Spawn: lay tensors out with a DPPolicy"},
		{"Spawn by a worker", func(r *torch.Rank) error {
			return r.Spawn(func(*torch.Rank) error { return nil }, 1)
		}, "torch: Spawn: called by a worker: only the program itself spawns workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
				if r.Rank() == 1 {
					return c.do(r)
				}
				g, err := dist.NewGroup(r, []int{0, 2})
				return errors.Join(err, dist.AllReduce(r, hostedtest.Full(r, 1, 4), dist.SUM, g))
			})
			hostedtest.Blames(t, err, []int{1})
			if text := ownLine.ReplaceAllString(err.Error(), ""); text != "rank 1: "+c.want {
				t.Errorf("error:\ngot  %v\nwant rank 1: %s", err, c.want)
			}
		})
	}
}

// ownLine matches the place of a mistake in this file, as errors name it.
var ownLine = regexp.MustCompile(`at groups_misuse_test\.go:\d+: `)

// TestMisuseOfGroupsOfPEs checks the errors for wrong calls in a program without Spawn.
func TestMisuseOfGroupsOfPEs(t *testing.T) {
	l := hostedtest.PEs(t, 4)
	x := l.MustZeros(torch.F32, torch.On(0, 1, 2, 3), 8)
	order := l.MustZeros(torch.F32, torch.On(0, 1, 3, 2), 8)
	few := l.MustZeros(torch.F32, torch.On(0, 1), 8)
	ragged := l.MustZeros(torch.F32, torch.On(0, 1, 2, 3), 9)
	for want, f := range map[string]func(){
		"torch: Send: the peer, rank 0, is the caller: put both ends of the message into one BatchISendIRecv": func() { dist.Send(l.Rank, x, 0, 0) },
		"torch: dist: tensor 2 [8] f32 does not lie over the 4 PEs of the default group: make it with torch.On(dist.PEs(r)...)": func() {
			dist.AllReduce(l.Rank, order, dist.SUM)
		},
		"torch: dist: tensor 3 [8] f32 does not lie over the 4 PEs of the default group: make it with torch.On(dist.PEs(r)...)": func() {
			dist.Broadcast(l.Rank, few, 0)
		},
		"torch: dist: tensor 4 [9] f32 is cut into parts of 3 and of 0 elements: its rows have to be a multiple of the 4 ranks": func() {
			dist.AllReduce(l.Rank, ragged, dist.SUM)
		},
	} {
		hostedtest.Says(t, "misuse", hostedtest.Misuse(f), want)
	}
	l = hostedtest.New(t, trialOptions(t)(trial{}))
	hostedtest.Says(t, "too large", dist.InitProcessGroup(l.Rank, "ahbm", func(o *dist.GroupOptions) { o.WorldSize = 25 }),
		"InitProcessGroup: a world of 25 ranks on a system of 24 PEs: lower world_size")
}

// TestSpawnOfTooManyWorkers checks the errors for a Spawn with too many workers, with no
// workers and with a nil worker.
func TestSpawnOfTooManyWorkers(t *testing.T) {
	l := hostedtest.New(t, trialOptions(t)(trial{}))
	for want, f := range map[string]func(){
		"torch: Spawn: 4 workers for a system of 3 SIPs: there is one for each rank, and a rank is a SIP": func() {
			l.Spawn(func(*torch.Rank) error { return nil }, 4)
		},
		"torch: Spawn: 0 workers for a system of 3 SIPs: there is one for each rank, and a rank is a SIP": func() {
			l.Spawn(func(*torch.Rank) error { return nil }, 0)
		},
		"torch: Spawn: the worker is nil": func() { l.Spawn(nil, 1) },
	} {
		hostedtest.Says(t, "misuse", hostedtest.Misuse(f), want)
	}
}
