package cli

import (
	"errors"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

var sink int

// registerBad registers benches and collectives that fail, each in a different way, for the
// command badbench of scripts. Scripts expect line numbers of this file.
func registerBad() {
	for name, run := range map[string]func(*bench.B) error{
		"wrong-shape": onPEs(1, func(t *tl.PE, x tl.Ptr) {
			a := t.Load(x, tl.Shape{4, 8}, tl.F16)
			a.Dot(a)
		}),
		"unknown-port": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.North, t.Load(x, tl.Shape{8}, tl.F16))
		}),
		"tcm-overflow": onPEs(1, func(t *tl.PE, x tl.Ptr) {
			for range 3 {
				t.Full(tl.Shape{512, 1024}, tl.F16, 1).Pin()
			}
		}),
		"tile-gone": onPEs(1, func(t *tl.PE, x tl.Ptr) {
			first := t.Full(tl.Shape{512, 1024}, tl.F16, 1)
			t.Full(tl.Shape{512, 1024}, tl.F16, 2)
			t.Full(tl.Shape{512, 1024}, tl.F16, 3)
			first.Neg()
		}),
		"other-dtype": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, t.Load(x, tl.Shape{8}, tl.F16))
			t.Recv(tl.West, tl.Shape{8}, tl.BF16)
		}),
		"other-size": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, t.Load(x, tl.Shape{8}, tl.F16))
			t.Recv(tl.West, tl.Shape{9}, tl.F16)
		}),
		"endless": onPEs(1, func(t *tl.PE, x tl.Ptr) {
			for {
				t.Load(x, tl.Shape{8}, tl.F16)
			}
		}),
		"endless-go": onPEs(1, func(*tl.PE, tl.Ptr) {
			for i := 0; ; i++ {
				sink = i
			}
		}),
		"endless-empty": onPEs(1, spin),
		"endless-pointer": onPEs(1, func(_ *tl.PE, x tl.Ptr) {
			for {
				sink = x.Add(1).Dim(0)
			}
		}),
		// Rank 1 waits for a message that rank 0 never sends.
		"peer-ended": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			if t.Rank() == 1 {
				t.Recv(tl.West, tl.Shape{8}, tl.F16)
			}
		}),
		"panics": onPEs(4, func(t *tl.PE, x tl.Ptr) {
			list := []int{1, 2, 3}
			t.Printf("%d", list[t.Rank()])
		}),
		"panics-text": onPEs(1, func(*tl.PE, tl.Ptr) {
			panic("no idea what to do")
		}),
		"assertion": onPEs(1, func(t *tl.PE, x tl.Ptr) {
			t.Assert(t.NumRanks() > 1, "%d rank is too few", t.NumRanks())
		}),
		// No PE receives before it has sent 5 messages, and a queue has 4 slots.
		"full-ring": onPEs(4, func(t *tl.PE, x tl.Ptr) {
			tile := t.Load(x, tl.Shape{8}, tl.F16)
			for range 5 {
				t.Send(tl.East, tile)
			}
			for range 5 {
				t.Recv(tl.West, tl.Shape{8}, tl.F16)
			}
		}),
		"left-over": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, t.Load(x, tl.Shape{8}, tl.F16))
		}),
		// Rank 0 writes the memory that rank 1 reads, and nothing orders the two accesses.
		"race": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			if t.Rank() == 0 {
				t.Put(1, x, t.Full(tl.Shape{8}, tl.F16, 1))
			} else {
				t.Load(x, tl.Shape{8}, tl.F16)
			}
		}),
		"wrong-value": func(b *bench.B) error {
			x, err := b.FromSlice([]int{1, 2, 3, 4}, torch.F32, torch.Shape{4})
			if err != nil {
				return err
			}
			return errors.Join(b.Check("x", x, []int{1, 2, 3, 4}), b.Check("y", x, []int{1, 2, 5, 5}))
		},
		"host-misuse": func(b *bench.B) error {
			_, err := b.FromSlice([]int{1, 2, 3}, torch.F32, torch.Shape{4})
			return err
		},
		"beyond-shard": onPEs(2, func(t *tl.PE, x tl.Ptr) {
			t.Load(x.At(16), tl.Shape{32}, tl.F16)
		}),
		"host-panic": func(b *bench.B) error {
			list := make([]int, 3)
			list[len(b.AllPEs())]++
			return nil
		},
		"host-error": func(*bench.B) error { return errors.New("the moon is in the wrong phase") },
		"twice": func(b *bench.B) error {
			b.Metrics(badMetrics{1})
			b.Metrics(badMetrics{2})
			return nil
		},
	} {
		bench.Register(bench.Bench{Name: name, Summary: "goes wrong", Metrics: badMetrics{}, Run: run})
	}
	// An all-reduce that leaves the data of each rank unchanged.
	ccl.Register(&ccl.Algorithm{
		Name: "idle", Summary: "does nothing", Collectives: []ccl.Collective{ccl.AllReduce},
		Neighbors: func(*ccl.Plan, int) []ccl.Neighbor { return nil },
		Inbox:     func(*ccl.Plan) int { return 0 },
		Kernel:    func(*tl.PE, *ccl.Args) {},
	})
	// All-reduces that fail.
	for name, kernel := range map[string]func(*tl.PE, *ccl.Args){
		"slip": func(t *tl.PE, a *ccl.Args) {
			t.Load(a.In(len(a.Counts)), tl.Shape{1}, a.DType)
		},
		"slip_of_its_own": func(t *tl.PE, a *ccl.Args) {
			sink = a.Counts[a.Rank+7]
		},
		"beyond": func(t *tl.PE, a *ccl.Args) { // reads beyond the end of its input
			t.Load(a.In(0).At(1), tl.Shape{a.Counts[0]}, a.DType)
		},
		"halfway": func(t *tl.PE, a *ccl.Args) {
			if a.Rank > 0 {
				t.WaitSignal(0, tl.GE, 1)
			}
		},
	} {
		ccl.Register(&ccl.Algorithm{
			Name: name, Summary: "goes wrong", Collectives: []ccl.Collective{ccl.AllReduce},
			Neighbors: func(*ccl.Plan, int) []ccl.Neighbor { return nil },
			Inbox:     func(*ccl.Plan) int { return 0 },
			Kernel:    kernel,
		})
	}
}

// onPEs returns the function of a bench that runs a kernel on a ring of n PEs, each with 32
// elements (f16) of a tensor.
func onPEs(n int, kernel func(*tl.PE, tl.Ptr)) func(*bench.B) error {
	return func(b *bench.B) error {
		pes := b.AllPEs()[:n]
		x, err := b.Zeros(torch.F16, torch.Shape{32 * n}, torch.On(pes...))
		if err != nil {
			return err
		}
		_, err = b.Launch("bad", kernel, x, torch.Neighbors(torch.Ring(pes...)))
		return err
	}
}

// spin runs an empty endless loop on rank 0.
func spin(t *tl.PE, _ tl.Ptr) {
	if t.Rank() > 0 {
		return
	}
	//lint:ignore SA5002 the bench needs an empty endless loop
	for {
	}
}

type badMetrics struct {
	A int `json:"a_ns" table:"ns,lower"`
}

// registerNear registers an all-reduce in which every rank has a queue to every other rank.
// The algorithm cannot use inboxes instead of queues.
func registerNear() {
	ccl.Register(&ccl.Algorithm{
		Name: "near", Summary: "from each rank to each other", Collectives: []ccl.Collective{ccl.AllReduce},
		Neighbors: func(p *ccl.Plan, rank int) (list []ccl.Neighbor) {
			for k := 1; k < p.Ranks; k++ {
				list = append(list, ccl.Neighbor{Port: tl.Numbered(k), Rank: (rank + k) % p.Ranks, PeerPort: tl.Numbered(p.Ranks - k)})
			}
			return list
		},
		Kernel: func(t *tl.PE, a *ccl.Args) {
			shape := tl.Shape{a.Count(0)}
			sum := t.Load(a.In(0), shape, a.DType)
			for k := 1; k < a.Ranks; k++ {
				t.Send(tl.Numbered(k), sum)
			}
			for k := 1; k < a.Ranks; k++ {
				sum = a.Combine(sum, t.Recv(tl.Numbered(k), shape, a.DType))
			}
			t.Store(a.Out(0), sum)
		},
	})
}
