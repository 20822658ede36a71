package torch_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// act is a step of a program that all ranks are in, in the same order. Programs are
// data, so that workers and a plain interpreter can run the same one.
type act struct {
	what   string
	rank   int // whose step it is, or the root, or the sender
	peer   int // the receiver
	x, y   int // numbers of tensors
	value  int
	group  int
	asynch bool
	number int // of the step
}

const actTensors, actElems = 3, 6

var actGroups = [][]int{{0, 1, 2, 3}, {2, 0}, {3, 1, 2}}

// state is the tensors of each rank.
type state [4][actTensors][actElems]int32

// run is what an act does.
func (a act) run(s *state) {
	members := actGroups[a.group]
	switch x := &s[a.rank][a.x]; a.what {
	case "launch":
		for i := range x {
			x[i] = x[i]*3 + int32(a.value)
		}
	case "fill":
		for i := range x {
			x[i] = int32(a.value + i)
		}
	case "copy", "self":
		s[a.rank][a.y] = *x
	case "send", "any":
		s[a.peer][a.y] = *x
	case "broadcast":
		from := s[members[a.value%len(members)]][a.x]
		for _, r := range members {
			s[r][a.x] = from
		}
	case "turn":
		members = actGroups[2]
		before := *s
		for i, r := range members {
			for j, from := range members {
				copy(s[r][a.x][j*2:j*2+2], before[from][a.x][i*2:i*2+2])
			}
		}
	case "sum", "sums":
		tensors := []int{a.x}
		if a.what == "sums" && a.y != a.x {
			tensors = append(tensors, a.y)
		}
		for _, x := range tensors {
			var sum [actElems]int32
			for _, r := range members {
				for i := range sum {
					sum[i] += s[r][x][i]
				}
			}
			for _, r := range members {
				s[r][x] = sum
			}
		}
	}
}

// player is a worker that runs a program.
type player struct {
	*torch.Context
	dist   *torch.Distributed
	groups []*torch.Group
	rank   int
	x      [actTensors]*torch.Tensor
	works  [actTensors]*torch.Work // not waited for, by what they write
}

func (p *player) start() (err error) {
	p.dist = p.Distributed()
	if err := p.dist.InitProcessGroup("ahbm"); err != nil {
		return err
	}
	p.groups = []*torch.Group{nil}
	for _, members := range actGroups[1:] {
		g, err := p.dist.NewGroup(members, torch.KeepOrder())
		if err != nil {
			return err
		}
		p.groups = append(p.groups, g)
	}
	for k := range p.x { // the first two on one PE
		if p.x[k], err = p.Zeros(torch.I32, torch.Shape{actElems}, torch.On(p.PE(p.rank, 0, k/2))); err != nil {
			return err
		}
	}
	return nil
}

// holds waits for what writes a tensor, and compares it.
func (p *player) holds(k int, want [actElems]int32) error {
	if w := p.works[k]; w != nil {
		p.works[k] = nil
		if err := w.Wait(); err != nil {
			return err
		}
	}
	a, err := p.x[k].Numpy()
	if err != nil {
		return err
	}
	if a.Wrong(want[:]) >= 0 {
		return fmt.Errorf("tensor %d is %v, want %v", k, a, want)
	}
	return nil
}

// do does the rank's part of an act. s is what there is after it.
func (p *player) do(a act, s *state) (err error) {
	x, y := p.x[a.x], p.x[a.y]
	written := a.x
	var w *torch.Work
	switch {
	case a.what == "send" && p.rank == a.rank:
		return second(p.dist.ISend(x, a.peer, a.value)) // its tensor is not written
	case a.what == "send" && p.rank == a.peer:
		w, err = p.dist.IRecv(y, a.rank, a.value)
		written = a.y
	case a.what == "any" && p.rank == a.rank:
		return second(p.dist.ISend(x, a.peer, 100+a.number))
	case a.what == "any" && p.rank == a.peer:
		w, err = p.dist.IRecv(y, torch.AnySource, 100+a.number)
		written = a.y
	case a.what == "self" && p.rank == a.rank && a.x != a.y:
		works, err := p.dist.BatchISendIRecv([]torch.P2POp{{Kind: torch.Recvs, Tensor: y, Peer: p.rank}, {Kind: torch.Sends, Tensor: x, Peer: p.rank}})
		if err != nil {
			return err
		}
		w, written = works[0], a.y
	case a.what == "turn" && slices.Contains(actGroups[2], p.rank):
		w, err = p.dist.AllToAllSingleAsync(x, x, nil, nil, p.groups[2])
	case a.what == "sums" && slices.Contains(actGroups[a.group], p.rank) && a.x != a.y:
		if w, err = p.dist.AllReduceCoalescedAsync([]*torch.Tensor{x, y}, torch.SUM, p.groups[a.group]); err == nil {
			p.works[a.y] = w
		}
	case a.what == "sums" && slices.Contains(actGroups[a.group], p.rank):
		w, err = p.dist.AllReduceAsync(x, torch.SUM, p.groups[a.group])
	case a.what == "sum" && slices.Contains(actGroups[a.group], p.rank):
		w, err = p.dist.AllReduceAsync(x, torch.SUM, p.groups[a.group])
	case a.what == "broadcast" && slices.Contains(actGroups[a.group], p.rank):
		members := actGroups[a.group]
		w, err = p.dist.BroadcastAsync(x, members[a.value%len(members)], p.groups[a.group])
	case p.rank != a.rank:
		return nil
	case a.what == "launch":
		_, err = p.Launch("act", func(t *tl.PE, x tl.Ptr) {
			t.Store(x, t.Load(x, tl.Shape{actElems}, tl.I32).Mul(3).Add(a.value))
		}, x)
		return err
	case a.what == "fill":
		return x.CopyFrom(count(a.value, actElems))
	case a.what == "copy":
		return errors.Join(p.holds(a.x, s[p.rank][a.x]), y.CopyFrom(x))
	case a.what == "read":
		return p.holds(a.x, s[p.rank][a.x])
	}
	if w == nil || err != nil {
		return err
	}
	p.works[written] = w
	if !a.asynch {
		return p.holds(written, s[p.rank][written])
	}
	return nil
}

// Streams of launches, copies, collectives of several groups and messages give what
// their program says, whoever is ahead of whom.
func TestAnyProgramOfWorkers(t *testing.T) {
	options := machines(t)(trial{spawned: true, world: 4})
	rapid.Check(t, func(t *rapid.T) {
		program := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			a := act{
				what: rapid.SampledFrom([]string{"launch", "fill", "copy", "send", "broadcast", "sum", "read", "any", "self", "turn", "sums"}).Draw(t, "what"),
				rank: rapid.IntRange(0, 3).Draw(t, "rank"), x: rapid.IntRange(0, actTensors-1).Draw(t, "x"), y: rapid.IntRange(0, actTensors-1).Draw(t, "y"),
				value: rapid.IntRange(0, 9).Draw(t, "value"), group: rapid.IntRange(0, len(actGroups)-1).Draw(t, "group"), asynch: rapid.Bool().Draw(t, "async"),
			}
			a.peer = (a.rank + rapid.IntRange(1, 3).Draw(t, "peer")) % 4
			return a
		}), 1, 40).Draw(t, "program")
		after := make([]state, len(program)+1)
		for i := range program {
			program[i].number = i
		}
		for i, a := range program {
			after[i+1] = after[i]
			a.run(&after[i+1])
		}
		ctx, err := torch.New(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		defer ctx.Close()
		err = ctx.Spawn(func(rank int, ctx *torch.Context) error {
			p := &player{Context: ctx, rank: rank}
			if err := p.start(); err != nil {
				return err
			}
			for i, a := range program {
				if err := p.do(a, &after[i+1]); err != nil {
					return fmt.Errorf("act %d, %+v: %w", i, a, err)
				}
			}
			for k := range p.x {
				if err := p.holds(k, after[len(program)][rank][k]); err != nil {
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
