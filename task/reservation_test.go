package task

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// signalProgram is a random program of ranks whose tasks send signals and wait for them.
// Tasks wait only for signals of tasks drawn before them, so that all tasks could run one
// by one.
type signalProgram struct {
	ranks int
	tasks []signalTask
}

// signalTask is a task of a signalProgram.
type signalTask struct {
	rank, members int
	signal        int // the signal that it sets at the peer or waits for; -1 for neither
	peer          int // the rank whose signal it sets; -1 if it waits
	after         []ID
}

// drawSignalProgram draws a random program. It also returns the number of members of the
// largest task.
func drawSignalProgram(t *rapid.T) (c signalProgram, most int) {
	n, r := drawTasks(t, 60)
	n = min(n, maxSignals)
	c.ranks = drawInt(r, 2, 3)
	count := make([]ID, c.ranks)
	var notAwaited [][2]int // signals that are set at a rank and no task waits for yet: signal, rank
	for range n {
		x := signalTask{rank: r.IntN(c.ranks), members: 1, signal: -1, peer: -1}
		if r.IntN(4) == 0 {
			x.members = drawInt(r, 1, 3)
		}
		switch r.IntN(3) {
		case 0:
			x.signal, x.peer = len(c.tasks), r.IntN(c.ranks)
			notAwaited = append(notAwaited, [2]int{x.signal, x.peer})
		case 1:
			if len(notAwaited) > 0 {
				k := r.IntN(len(notAwaited))
				x.signal, x.rank = notAwaited[k][0], notAwaited[k][1]
				notAwaited = append(notAwaited[:k], notAwaited[k+1:]...)
			}
		}
		for id := range count[x.rank] {
			if r.IntN(6) == 0 {
				x.after = append(x.after, id)
			}
		}
		count[x.rank]++
		most = max(most, x.members)
		c.tasks = append(c.tasks, x)
	}
	return c, most
}

// job returns the program as a job.
func (c signalProgram) job() *job {
	tell := func(t *tl.PE, peer, signal int) {
		if t.ProgramID(0) == 0 {
			t.Notify(peer, signal, tl.Set, 1)
		}
	}
	await := func(t *tl.PE, signal int) { t.WaitSignal(signal, tl.EQ, 1) }
	return &job{ranks: c.ranks, submit: func(b *Builder, _ []*Tensor) {
		for _, x := range c.tasks {
			if x.rank != b.Rank() {
				continue
			}
			switch options := []Option{After(x.after...), Group(x.members)}; {
			case x.signal < 0:
				b.Submit("count", count, Args{Scalar("n", 50)}, options...)
			case x.peer >= 0:
				b.Submit("tell", tell, Args{Scalar("peer", x.peer), Scalar("signal", x.signal)}, options...)
			default:
				b.Submit("await", await, Args{Scalar("signal", x.signal)}, options...)
			}
		}
	}}
}

// TestNoDeadlockForLackOfCores checks programs whose tasks could run one by one. They must
// end under every runtime, even with only as many compute cores as the largest task group
// has members.
func TestNoDeadlockForLackOfCores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, most := drawSignalProgram(t)
		cores := most + rapid.IntRange(0, 3).Draw(t, "more cores")
		_, r := drawTasks(t, 1)
		j := c.job()
		for _, runtime := range Runtimes {
			o := Options{Runtime: runtime, Config: drawConfig(r, j.program(t, 0), cores)}
			o.Config.Host.Tasks = len(c.tasks)
			j.mustRunSimulated(t, o, torch.Options{NoData: true})
			if _, errs := j.runReal(o); errs != nil {
				for rank, err := range errs {
					if err != nil {
						t.Fatalf("%s, real rank %d: %v", runtime, rank, err)
					}
				}
			}
		}
	})
}

// TestMaxTree checks that maxBefore(i) returns the largest number of members among the
// tasks before task i, without the tasks that clear has removed.
func TestMaxTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Program{}
		var tree maxTree
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			for range rapid.IntRange(0, 20).Draw(t, "tasks") {
				p.Tasks = append(p.Tasks, Task{Members: rapid.IntRange(1, 9).Draw(t, "members")})
			}
			tree.grow(p)
		}
		gone := make([]bool, len(p.Tasks))
		for range len(p.Tasks) {
			k := rapid.IntRange(0, len(p.Tasks)-1).Draw(t, "gone")
			gone[k] = true
			tree.clear(k)
			want := 0
			for i := range p.Tasks {
				if got := tree.maxBefore(i); got != want {
					t.Fatalf("before task %d: %d, want %d", i, got, want)
				}
				if !gone[i] {
					want = max(want, p.Tasks[i].Members)
				}
			}
		}
	})
}
