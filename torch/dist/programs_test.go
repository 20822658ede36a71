package dist_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// action is one step of a random program. All ranks run the actions in the same order. A
// program is data, so that workers and a simple interpreter can run the same program.
type action struct {
	what   string // "launch", "fill", "send" and so on
	rank   int    // the rank that acts, or the sender
	peer   int    // the receiver
	x, y   int    // numbers of tensors
	value  int
	group  int
	async  bool
	number int // the index of the action in the program
}

// programTensors is the number of tensors of each rank, and tensorElems the number of
// elements of each tensor.
const programTensors, tensorElems = 3, 6

// programGroups lists the ranks of each group. The first group is the world.
var programGroups = [][]int{{0, 1, 2, 3}, {2, 0}, {3, 1, 2}}

// slicing says where the tensors of a rank are in its memory. The field at has the index of
// the first element of each tensor. The field sliced says that the first two tensors are
// slices of one larger tensor; they overlap if their starts are closer than their length.
type slicing struct {
	at     [programTensors]int
	sliced bool
}

var slicings = []slicing{{[...]int{0, 6, 12}, false}, {[...]int{0, 6, 12}, true}, {[...]int{0, 4, 12}, true}, {[...]int{3, 1, 12}, true}}

// programState is the state of the interpreter: the memory of all ranks.
type programState struct {
	slicing
	ranks [4][3 * tensorElems]int32
}

// tensor returns the elements of the given tensor of the given rank.
func (s *programState) tensor(rank, tensor int) []int32 {
	return s.ranks[rank][s.at[tensor]:][:tensorElems]
}

// overlap reports whether the tensors with the numbers x and y have memory in common.
func (s slicing) overlap(x, y int) bool {
	return x == y || x < 2 && y < 2 && s.sliced && max(s.at[x], s.at[y])-min(s.at[x], s.at[y]) < tensorElems
}

// run interprets the action: it changes the state s in the way in which the action must
// change the tensors.
func (a action) run(s *programState) {
	members := programGroups[a.group]
	switch x := s.tensor(a.rank, a.x); a.what {
	case "launch":
		for i := range x {
			x[i] = x[i]*3 + int32(a.value)
		}
	case "fill":
		for i := range x {
			x[i] = int32(a.value + i)
		}
	case "copy":
		copy(s.tensor(a.rank, a.y), x)
	case "self":
		if !s.overlap(a.x, a.y) {
			copy(s.tensor(a.rank, a.y), x)
		}
	case "send", "any":
		copy(s.tensor(a.peer, a.y), x)
	case "broadcast":
		from := s.tensor(members[a.value%len(members)], a.x)
		for _, r := range members {
			copy(s.tensor(r, a.x), from)
		}
	case "turn":
		members = programGroups[2]
		before := *s
		for i, r := range members {
			for j, from := range members {
				copy(s.tensor(r, a.x)[j*2:j*2+2], before.tensor(from, a.x)[i*2:i*2+2])
			}
		}
	case "sum", "sums":
		tensors := []int{a.x}
		if a.what == "sums" && !s.overlap(a.x, a.y) {
			tensors = append(tensors, a.y)
		}
		for _, x := range tensors {
			var sum [tensorElems]int32
			for _, r := range members {
				for i := range sum {
					sum[i] += s.tensor(r, x)[i]
				}
			}
			for _, r := range members {
				copy(s.tensor(r, x), sum[:])
			}
		}
	}
}

// programWorker is a worker of Spawn that runs a program.
type programWorker struct {
	*torch.Rank
	groups []*dist.Group
	rank   int
	x      [programTensors]*torch.Tensor
	works  [programTensors]*dist.Work // the Work that writes each tensor; nil after Wait
}

// start makes the groups and the tensors of the worker.
func (p *programWorker) start(slices slicing) (err error) {
	if err := dist.InitProcessGroup(p.Rank, "ahbm"); err != nil {
		return err
	}
	p.groups = []*dist.Group{nil}
	for _, members := range programGroups[1:] {
		g, err := dist.NewGroup(p.Rank, members, dist.KeepOrder())
		if err != nil {
			return err
		}
		p.groups = append(p.groups, g)
	}
	for k := range p.x { // the first two are on one PE
		if p.x[k], err = p.Zeros(torch.I32, torch.Shape{tensorElems}, torch.On(p.PE(p.rank, 0, k/2))); err != nil {
			return err
		}
	}
	if slices.sliced {
		base, err := p.Zeros(torch.I32, torch.Shape{2 * tensorElems}, torch.On(p.PE(p.rank, 0, 0)))
		if err != nil {
			return err
		}
		p.x[0], p.x[1] = base.Narrow(0, slices.at[0], tensorElems), base.Narrow(0, slices.at[1], tensorElems)
	}
	return nil
}

// checkTensor waits for the operations that write tensor k, and returns an error if the
// values of the tensor differ from want.
func (p *programWorker) checkTensor(k int, want []int32) error {
	for i, w := range p.works {
		if w == nil || !p.x[i].SharesMemory(p.x[k]) {
			continue
		}
		p.works[i] = nil
		if err := w.Wait(); err != nil {
			return err
		}
	}
	a, err := p.x[k].Numpy()
	if err != nil {
		return err
	}
	if a.Wrong(want) >= 0 {
		return fmt.Errorf("tensor %d is %v, want %v", k, a, want)
	}
	return nil
}

// run does the worker's part of the action a. `before` is the interpreter's state before
// the action, and s is its state after the action.
func (p *programWorker) run(a action, before, s *programState) (err error) {
	x, y := p.x[a.x], p.x[a.y]
	written := a.x
	var w *dist.Work
	switch {
	case a.what == "send" && p.rank == a.rank:
		return hostedtest.Second(dist.ISend(p.Rank, x, a.peer, a.value)) // the tensor is not written
	case a.what == "send" && p.rank == a.peer:
		w, err = dist.IRecv(p.Rank, y, a.rank, a.value)
		written = a.y
	case a.what == "any" && p.rank == a.rank:
		return hostedtest.Second(dist.ISend(p.Rank, x, a.peer, 100+a.number))
	case a.what == "any" && p.rank == a.peer:
		w, err = dist.IRecv(p.Rank, y, dist.AnySource, 100+a.number)
		written = a.y
	case a.what == "self" && p.rank == a.rank && !s.overlap(a.x, a.y):
		works, err := dist.BatchISendIRecv(p.Rank, []dist.P2POp{{Kind: dist.Recvs, Tensor: y, Peer: p.rank}, {Kind: dist.Sends, Tensor: x, Peer: p.rank}})
		if err != nil {
			return err
		}
		w, written = works[0], a.y
	case a.what == "turn" && slices.Contains(programGroups[2], p.rank):
		w, err = dist.AllToAllSingleAsync(p.Rank, x, x, nil, nil, p.groups[2])
	case a.what == "sums" && slices.Contains(programGroups[a.group], p.rank) && !s.overlap(a.x, a.y):
		if w, err = dist.AllReduceCoalescedAsync(p.Rank, []*torch.Tensor{x, y}, dist.SUM, p.groups[a.group]); err == nil {
			p.works[a.y] = w
		}
	case a.what == "sums" && slices.Contains(programGroups[a.group], p.rank):
		w, err = dist.AllReduceAsync(p.Rank, x, dist.SUM, p.groups[a.group])
	case a.what == "sum" && slices.Contains(programGroups[a.group], p.rank):
		w, err = dist.AllReduceAsync(p.Rank, x, dist.SUM, p.groups[a.group])
	case a.what == "broadcast" && slices.Contains(programGroups[a.group], p.rank):
		members := programGroups[a.group]
		w, err = dist.BroadcastAsync(p.Rank, x, members[a.value%len(members)], p.groups[a.group])
	case p.rank != a.rank:
		return nil
	case a.what == "launch":
		_, err = p.Launch("act", func(t *tl.PE, x tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{tensorElems}, tl.I32).Mul(3).Add(a.value))
		}, x)
		return err
	case a.what == "fill":
		return x.CopyFrom(lists.Count(a.value, tensorElems))
	case a.what == "copy":
		return errors.Join(p.checkTensor(a.x, before.tensor(p.rank, a.x)), y.CopyFrom(x))
	case a.what == "read":
		return p.checkTensor(a.x, s.tensor(p.rank, a.x))
	}
	if w == nil || err != nil {
		return err
	}
	p.works[written] = w
	if !a.async {
		return p.checkTensor(written, s.tensor(p.rank, written))
	}
	return nil
}

// TestAnyProgramOfWorkers runs random programs of launches, copies, messages, and
// collectives of several groups. In some programs, tensors are slices of one tensor. It
// checks that the workers get the same values as the interpreter.
func TestAnyProgramOfWorkers(t *testing.T) {
	options := trialOptions(t)(trial{spawned: true, world: 4})
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
			a := action{
				what: rapid.SampledFrom([]string{"launch", "fill", "copy", "send", "broadcast", "sum", "read", "any", "self", "turn", "sums"}).Draw(t, "what"),
				rank: rapid.IntRange(0, 3).Draw(t, "rank"), x: rapid.IntRange(0, programTensors-1).Draw(t, "x"), y: rapid.IntRange(0, programTensors-1).Draw(t, "y"),
				value: rapid.IntRange(0, 9).Draw(t, "value"), group: rapid.IntRange(0, len(programGroups)-1).Draw(t, "group"), async: rapid.Bool().Draw(t, "async"),
			}
			a.peer = (a.rank + rapid.IntRange(1, 3).Draw(t, "peer")) % 4
			return a
		}), 1, 40).Draw(t, "program")
		after := make([]programState, len(program)+1)
		for i := range program {
			program[i].number = i
		}
		after[0].slicing = rapid.SampledFrom(slicings).Draw(t, "slices")
		for i, a := range program {
			after[i+1] = after[i]
			a.run(&after[i+1])
		}
		c, err := torch.New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Main()
		defer r.Close()
		err = r.Spawn(func(r *torch.Rank) error {
			p := &programWorker{Rank: r, rank: r.Rank()}
			if err := p.start(after[0].slicing); err != nil {
				return err
			}
			for i, a := range program {
				if err := p.run(a, &after[i], &after[i+1]); err != nil {
					return fmt.Errorf("action %d, %+v: %w", i, a, err)
				}
			}
			for k := range p.x {
				if err := p.checkTensor(k, after[len(program)].tensor(r.Rank(), k)); err != nil {
					return fmt.Errorf("at the end: %w", err)
				}
			}
			return nil
		}, 4)
		if err != nil {
			t.Fatal(err)
		}
	})
}
