package dist_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// collectives has for each collective a function that returns its input tensors, the
// expected results, and the synchronous and asynchronous calls.
var collectives = map[string]func(c *caller) collectiveCall{
	"all_reduce": func(c *caller) collectiveCall {
		return collectiveCall{[]tensorSet{c.inputs(0, c.sameRows)}, []tensorSet{c.replicate(c.reduce(0, c.rows[0]))},
			func(x []*torch.Tensor) error { return dist.AllReduce(c.Rank, x[0], c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllReduceAsync(c.Rank, x[0], c.reduction.op, c.g)
			}}
	},
	"reduce": func(c *caller) collectiveCall {
		before, root := c.inputs(0, c.sameRows), c.group[c.root]
		after := slices.Clone(before)
		after[c.root] = c.reduce(0, c.rows[0])
		return collectiveCall{[]tensorSet{before}, []tensorSet{after},
			func(x []*torch.Tensor) error { return dist.Reduce(c.Rank, x[0], root, c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceAsync(c.Rank, x[0], root, c.reduction.op, c.g)
			}}
	},
	"broadcast": func(c *caller) collectiveCall {
		before, root := c.inputs(0, c.sameRows), c.group[c.root]
		return collectiveCall{[]tensorSet{before}, []tensorSet{c.replicate(before[c.root])},
			func(x []*torch.Tensor) error { return dist.Broadcast(c.Rank, x[0], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.BroadcastAsync(c.Rank, x[0], root, c.g) }}
	},
	"all_gather": func(c *caller) collectiveCall {
		own := c.inputs(0, c.blockRows)
		k := collectiveCall{[]tensorSet{own}, []tensorSet{own},
			func(x []*torch.Tensor) error { return dist.AllGather(c.Rank, x[1:], x[0], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.AllGatherAsync(c.Rank, x[1:], x[0], c.g) }}
		for _, x := range own {
			k.before, k.after = append(k.before, c.replicate(x).blank()), append(k.after, c.replicate(x))
		}
		return k
	},
	"all_gather_into_tensor": func(c *caller) collectiveCall {
		own := c.inputs(0, c.sameRows)
		all := c.replicate(own...)
		return collectiveCall{[]tensorSet{own, all.blank()}, []tensorSet{own, all},
			func(x []*torch.Tensor) error { return dist.AllGatherIntoTensor(c.Rank, x[1], x[0], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherIntoTensorAsync(c.Rank, x[1], x[0], c.g)
			}}
	},
	"reduce_scatter": func(c *caller) collectiveCall {
		list, out := c.blocksToScatter(c.blockRows)
		return collectiveCall{append([]tensorSet{out.blank()}, list...), append([]tensorSet{out}, list...),
			func(x []*torch.Tensor) error { return dist.ReduceScatter(c.Rank, x[0], x[1:], c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterAsync(c.Rank, x[0], x[1:], c.reduction.op, c.g)
			}}
	},
	"reduce_scatter_tensor": func(c *caller) collectiveCall {
		list, out := c.blocksToScatter(c.sameRows)
		in := concatenate(list)
		return collectiveCall{[]tensorSet{out.blank(), in}, []tensorSet{out, in},
			func(x []*torch.Tensor) error {
				return dist.ReduceScatterTensor(c.Rank, x[0], x[1], c.reduction.op, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterTensorAsync(c.Rank, x[0], x[1], c.reduction.op, c.g)
			}}
	},
	"all_to_all": func(c *caller) collectiveCall {
		in, out := c.blocksToExchange()
		k := collectiveCall{slices.Clone(in), slices.Concat(in, out),
			func(x []*torch.Tensor) error { return dist.AllToAll(c.Rank, x[len(in):], x[:len(in)], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllAsync(c.Rank, x[len(in):], x[:len(in)], c.g)
			}}
		for _, s := range out {
			k.before = append(k.before, s.blank())
		}
		return k
	},
	"all_to_all_single": func(c *caller) collectiveCall {
		var inSplits, outSplits []int
		if c.rank < 0 {
			c.rows = c.rows[:1] // all ranks have the same splits
		} else {
			for peer := range c.group {
				inSplits, outSplits = append(inSplits, c.pairRows(c.rank, peer)), append(outSplits, c.pairRows(peer, c.rank))
			}
		}
		ins, outs := c.blocksToExchange()
		in, out := concatenate(ins), concatenate(outs)
		return collectiveCall{[]tensorSet{in, out.blank()}, []tensorSet{in, out},
			func(x []*torch.Tensor) error {
				return dist.AllToAllSingle(c.Rank, x[1], x[0], outSplits, inSplits, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllSingleAsync(c.Rank, x[1], x[0], outSplits, inSplits, c.g)
			}}
	},
	"all_to_all_in_place": func(c *caller) collectiveCall {
		c.makeSymmetric()
		in, out := c.blocksToExchange()
		return collectiveCall{in, out,
			func(x []*torch.Tensor) error { return dist.AllToAll(c.Rank, x, x, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllAsync(c.Rank, x, slices.Clone(x), c.g)
			}}
	},
	"all_to_all_single_in_place": func(c *caller) collectiveCall {
		c.makeSymmetric()
		var splits []int
		if c.rank >= 0 && len(c.rows) > 1 {
			for peer := range c.group {
				splits = append(splits, c.pairRows(c.rank, peer))
			}
		}
		ins, outs := c.blocksToExchange()
		return collectiveCall{[]tensorSet{concatenate(ins)}, []tensorSet{concatenate(outs)},
			func(x []*torch.Tensor) error { return dist.AllToAllSingle(c.Rank, x[0], x[0], splits, splits, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllSingleAsync(c.Rank, x[0], x[0], splits, splits, c.g)
			}}
	},
	"gather": func(c *caller) collectiveCall {
		own, root := c.inputs(0, c.blockRows), c.group[c.root]
		k := collectiveCall{[]tensorSet{own}, []tensorSet{own},
			func(x []*torch.Tensor) error { return dist.Gather(c.Rank, x[0], x[1:], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.GatherAsync(c.Rank, x[0], x[1:], root, c.g) }}
		for _, x := range own {
			blank := c.replicate(x).blank()
			k.before, k.after = append(k.before, c.onlyRoot(blank, blank)), append(k.after, c.onlyRoot(c.replicate(x), blank))
		}
		return k
	},
	"scatter": func(c *caller) collectiveCall {
		list, out := c.blocksToScatter(c.blockRows)
		for rank := range out {
			out[rank] = list[rank][c.root]
			list[rank] = c.onlyRoot(list[rank], list[rank])
		}
		root := c.group[c.root]
		return collectiveCall{append([]tensorSet{out.blank()}, list...), append([]tensorSet{out}, list...),
			func(x []*torch.Tensor) error { return dist.Scatter(c.Rank, x[0], x[1:], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.ScatterAsync(c.Rank, x[0], x[1:], root, c.g) }}
	},
	"sendrecv": func(c *caller) collectiveCall { // a message from the root to the next rank
		from, to := c.group[c.root], c.group[(c.root+1)%len(c.group)]
		before := c.inputs(0, c.sameRows)
		after := slices.Clone(before)
		after[(c.root+1)%len(c.group)] = before[c.root]
		return collectiveCall{[]tensorSet{before}, []tensorSet{after},
			func(x []*torch.Tensor) error {
				switch c.group[c.rank] {
				case from:
					return dist.Send(c.Rank, x[0], to, 3, c.g)
				case to:
					return dist.Recv(c.Rank, x[0], from, 3, c.g)
				}
				return nil
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				switch c.group[c.rank] {
				case from:
					return dist.ISend(c.Rank, x[0], to, 3, c.g)
				case to:
					return dist.IRecv(c.Rank, x[0], from, 3, c.g)
				}
				return nil, nil
			}}
	},
	"all_reduce_coalesced": func(c *caller) collectiveCall {
		var before, after []tensorSet
		for i, rows := range c.threeSizes() {
			before, after = append(before, c.inputs(i, rows)), append(after, c.replicate(c.reduce(i, rows(0))))
		}
		return collectiveCall{before, after,
			func(x []*torch.Tensor) error { return dist.AllReduceCoalesced(c.Rank, x, c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllReduceCoalescedAsync(c.Rank, x, c.reduction.op, c.g)
			}}
	},
	"all_gather_coalesced": func(c *caller) collectiveCall {
		var own, lists, blank []tensorSet
		for i, rows := range c.threeSizes() {
			own = append(own, c.inputs(i, rows))
			for _, x := range own[i] {
				lists, blank = append(lists, c.replicate(x)), append(blank, c.replicate(x).blank())
			}
		}
		cut := func(x []*torch.Tensor) [][]*torch.Tensor {
			return slices.Collect(slices.Chunk(x[len(own):], len(c.group)))
		}
		return collectiveCall{slices.Concat(own, blank), slices.Concat(own, lists),
			func(x []*torch.Tensor) error { return dist.AllGatherCoalesced(c.Rank, cut(x), x[:len(own)], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherCoalescedAsync(c.Rank, cut(x), x[:len(own)], c.g)
			}}
	},
	"all_gather_into_tensor_coalesced": func(c *caller) collectiveCall {
		var own, all, blank []tensorSet
		for i, rows := range c.threeSizes() {
			own = append(own, c.inputs(i, rows))
			all = append(all, c.replicate(own[i]...))
			blank = append(blank, all[i].blank())
		}
		n := len(own)
		return collectiveCall{slices.Concat(own, blank), slices.Concat(own, all),
			func(x []*torch.Tensor) error { return dist.AllGatherIntoTensorCoalesced(c.Rank, x[n:], x[:n], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherIntoTensorCoalescedAsync(c.Rank, x[n:], x[:n], c.g)
			}}
	},
	"reduce_scatter_tensor_coalesced": func(c *caller) collectiveCall {
		var in, out, blank []tensorSet
		for _, rows := range c.threeSizes() {
			list, reduced := c.blocksToScatter(rows)
			in, out, blank = append(in, concatenate(list)), append(out, reduced), append(blank, reduced.blank())
		}
		n := len(in)
		return collectiveCall{slices.Concat(in, blank), slices.Concat(in, out),
			func(x []*torch.Tensor) error {
				return dist.ReduceScatterTensorCoalesced(c.Rank, x[n:], x[:n], c.reduction.op, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterTensorCoalescedAsync(c.Rank, x[n:], x[:n], c.reduction.op, c.g)
			}}
	},
	"barrier": func(c *caller) collectiveCall {
		return collectiveCall{nil, nil,
			func([]*torch.Tensor) error { return dist.Barrier(c.Rank, c.g) },
			func([]*torch.Tensor) (*dist.Work, error) { return dist.BarrierAsync(c.Rank, c.g) }}
	},
}

// blocksToScatter returns the blocks that every rank has for each rank of the group (list),
// and the reductions of these blocks (reduced). rows(i) is the number of rows of the block
// for rank i.
func (tr trial) blocksToScatter(rows func(rank int) int) (list []tensorSet, reduced tensorSet) {
	for rank := range tr.group {
		list = append(list, tr.inputs(rank, func(int) int { return rows(rank) }))
		reduced = append(reduced, tr.reduce(rank, rows(rank)))
	}
	return list, reduced
}

// threeSizes returns three functions, one for each of three blocks that may differ in size.
// Each function returns the number of rows of its block, which is the same on all ranks.
func (tr trial) threeSizes() (list []func(int) int) {
	for i := range 3 {
		list = append(list, func(int) int { return tr.rows[i%len(tr.rows)] })
	}
	return list
}

// blocksToExchange returns the blocks that every rank sends to each rank (in), and the
// blocks that every rank receives from each rank (out).
func (tr trial) blocksToExchange() (in, out []tensorSet) {
	for peer := range tr.group {
		in = append(in, tr.inputs(peer, func(rank int) int { return tr.pairRows(rank, peer) }))
		out = append(out, make(tensorSet, len(tr.group)))
	}
	for from := range tr.group {
		for to := range tr.group {
			out[from][to] = in[to][from]
		}
	}
	return in, out
}

// trialOptions returns a function that returns the options for a trial. The machine has one
// SIP for each worker, or three SIPs without Spawn. A SIP has two cubes of four PEs.
func trialOptions(t testing.TB) func(tr trial) torch.Options {
	known := map[int]*topology.Graph{}
	config := ccl.Default()
	return func(tr trial) torch.Options {
		sips := 3
		if tr.spawned {
			sips = tr.world
		}
		if known[sips] == nil {
			known[sips] = hostedtest.System(t, "ring6", fmt.Sprintf("system.sips.count=%d", sips),
				"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1")
		}
		return torch.Options{Topology: known[sips], Threads: 1, CCL: config}
	}
}

// defaultTrial returns a trial of the given collective with default settings, which tests
// change.
func defaultTrial(collective string, spawned bool, world int) trial {
	return trial{
		spawned: spawned, collective: collective, algorithm: "ring", world: world, group: lists.Count(0, world), dtype: torch.I32, reduction: reductions[0],
		root: world / 2, rows: []int{5}, layout: layouts[0],
	}
}

// possible reports whether the settings of the trial can be combined.
func (tr trial) possible() bool {
	return tr.collective != "sendrecv" || tr.spawned && len(tr.group) > 1
}

// onPartsOfTensor reports whether the collective takes one tensor with a part for each
// rank, not a list of tensors.
func (tr trial) onPartsOfTensor() bool {
	return strings.Contains(tr.collective, "_tensor") || strings.Contains(tr.collective, "_single")
}

// names returns the names of all collectives, sorted.
func names() []string { return slices.Sorted(maps.Keys(collectives)) }

// algorithms returns the names of the algorithms that support the collective with the given
// name.
func algorithms(name string) (list []string) {
	name = strings.TrimSuffix(name, "_coalesced")
	for _, cut := range []string{"", "_into_tensor", "_tensor", "_single", "_in_place", "_single_in_place"} {
		if c, err := ccl.ParseCollective(strings.TrimSuffix(name, cut)); err == nil {
			for _, a := range ccl.Algorithms(c) {
				list = append(list, a.Name)
			}
			return list
		}
	}
	panic("no collective " + name)
}

// TestEveryCollectiveOnEveryWorld checks the values of every collective with every
// algorithm, with and without Spawn, on worlds of several sizes. The test uses blocks of
// many rows, which need several messages, blocks of one row, and blocks without rows.
func TestEveryCollectiveOnEveryWorld(t *testing.T) {
	options := trialOptions(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			for i, algorithm := range algorithms(name) {
				for _, world := range []int{1, 2, 3, 6, 7, 12} {
					for j, spawned := range []bool{false, true} {
						for k, rows := range []int{19*world + 3, 1, 0} {
							tr := defaultTrial(name, spawned, world)
							tr.algorithm, tr.async, tr.rows, tr.chunk = algorithm, (i+j+k)%2 == 0, []int{rows}, 32
							if !tr.possible() || world > 7 && (spawned || rows > 1) || world != 3 && rows == 1 {
								continue
							}
							if strings.HasSuffix(name, "_coalesced") && world != 3 && world != 12 {
								continue // one world with queues and one with inboxes are enough
							}
							if err := tr.run(options(tr)); err != nil {
								t.Errorf("%v: %v", tr, err)
							}
						}
					}
				}
			}
		})
	}
}

// TestEveryReductionOfEveryDType checks the values of every reduction on every dtype that
// it supports.
func TestEveryReductionOfEveryDType(t *testing.T) {
	options := trialOptions(t)
	for _, r := range reductions {
		for i, dtype := range numeric.DTypes {
			for j, name := range []string{"all_reduce", "reduce", "reduce_scatter_tensor"} {
				tr := defaultTrial(name, (i+j)%2 == 0, 5)
				tr.reduction, tr.dtype, tr.algorithm = r, dtype, algorithms(name)[i%len(algorithms(name))]
				if !r.serves(dtype) {
					continue
				}
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// TestEveryLayout checks the values of every collective on tensors of workers in every
// layout. It also checks that collectives on parts of one tensor are refused if a part is
// not contiguous.
func TestEveryLayout(t *testing.T) {
	options := trialOptions(t)
	for _, layout := range layouts {
		for _, name := range names() {
			for _, shape := range [][2]int{{7, 0}, {7, 3}, {6, 4}, {1, 5}} {
				tr := defaultTrial(name, true, 3)
				tr.layout, tr.rows, tr.width = layout, shape[:1], shape[1]
				if layout.name == "a grid" && tr.width == 0 {
					continue // a vector has no columns
				}
				err := tr.run(options(tr))
				if tr.onPartsOfTensor() && layout.scattered {
					if err == nil || !strings.Contains(err.Error(), scatteredError) {
						t.Errorf("%v: error %v, want one with %q", tr, err, scatteredError)
					}
				} else if err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// scatteredError is a part of the error for a tensor whose parts are not contiguous.
const scatteredError = "does not lie in one piece: cut it by columns, or by rows without copies, or give it to one PE"

// TestAllReduceOfPartialTensors checks that an all-reduce of partial tensors also sums the
// addends, and that AVG divides by the number of ranks, not by the number of addends.
// Reductions that are not sums must be refused.
func TestAllReduceOfPartialTensors(t *testing.T) {
	options := trialOptions(t)
	for _, layout := range partialLayouts {
		for i, r := range reductions {
			for _, world := range []int{1, 2, 7} {
				tr := defaultTrial("all_reduce", true, world)
				tr.layout, tr.reduction, tr.rows, tr.width = layout, r, []int{6}, 4
				tr.algorithm = algorithms(tr.collective)[(i+world)%len(algorithms(tr.collective))]
				if r.serves(torch.F32) {
					tr.dtype = torch.BF16
				}
				err := tr.run(options(tr))
				if r.sums() && err != nil || !r.sums() && (err == nil || !strings.Contains(err.Error(), "of a partial tensor, which is the sum of its addends")) {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// TestOtherCollectivesOfPartialTensors checks that all collectives except the all-reduce
// refuse partial tensors.
func TestOtherCollectivesOfPartialTensors(t *testing.T) {
	options := trialOptions(t)
	for _, name := range names() {
		tr := defaultTrial(name, true, 2)
		tr.layout = partialLayouts[0]
		if strings.HasPrefix(name, "all_reduce") || name == "barrier" {
			continue
		}
		want := "brings a partial tensor, whose holders have addends: all-reduce it first"
		if err := tr.run(options(tr)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", tr, err, want)
		}
	}
}

// TestUnevenBlocks checks the values of collectives on lists of tensors with different
// sizes, and of all-to-alls with uneven splits. Some of the tensors and parts are empty.
func TestUnevenBlocks(t *testing.T) {
	options := trialOptions(t)
	for _, name := range []string{"all_gather", "reduce_scatter", "gather", "scatter", "all_to_all", "all_to_all_single"} {
		for i, rows := range [][]int{{3, 0, 5, 1}, {0, 0, 0, 0, 2}, {1500, 1, 0}, {0, 4}} {
			for _, algorithm := range algorithms(name) {
				tr := defaultTrial(name, true, 4)
				tr.rows, tr.algorithm, tr.width, tr.async, tr.layout = rows, algorithm, 2, i == 2, layouts[i]
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
				tr = defaultTrial(name, false, 4)
				tr.rows, tr.algorithm = rowsOnPEs(rows, 4), algorithm
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// rowsOnPEs divides the rows of n blocks over n PEs in the same way as torch.On, and
// returns the number of rows on each PE. The list `rows` has the number of rows of each
// block; it repeats if it has fewer than n entries.
func rowsOnPEs(rows []int, n int) []int {
	total := 0
	for i := range n {
		total += rows[i%len(rows)]
	}
	per := (total + n - 1) / n
	cut := make([]int, n)
	for i := range cut {
		cut[i] = min(per, max(0, total-i*per))
	}
	return cut
}

// TestCollectivesOfSubgroups checks the values of collectives in groups that keep their
// order of ranks. Roots are given as ranks of the world.
func TestCollectivesOfSubgroups(t *testing.T) {
	options := trialOptions(t)
	for _, name := range names() {
		for i, group := range [][]int{{4}, {3, 1}, {5, 0, 2}, {4, 3, 2, 1, 0}, {2, 5, 1, 4, 0, 3}} {
			for j, spawned := range []bool{false, true} {
				tr := defaultTrial(name, spawned, 6)
				tr.group, tr.root, tr.algorithm = group, i/2, algorithms(name)[(i+j)%len(algorithms(name))]
				if !tr.possible() {
					continue
				}
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// TestLargeWorlds checks the values of an all-reduce on 200 PEs with every algorithm. The
// world is larger than a SIP, and its size is not a power of two.
func TestLargeWorlds(t *testing.T) {
	for _, algorithm := range algorithms("all_reduce") {
		tr := defaultTrial("all_reduce", false, 200)
		tr.algorithm, tr.rows = algorithm, []int{2}
		if err := tr.run(torch.Options{}); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
	}
}

// TestCollectivesInPlace checks collectives in place. In an all-gather, the tensor that a
// rank sends is also the entry for this rank in the list that it receives into. In a
// reduce-scatter, the tensor that a rank receives into is also the entry for this rank in
// the list that it sends.
func TestCollectivesInPlace(t *testing.T) {
	for _, name := range []string{"all_gather", "reduce_scatter"} {
		t.Run(name, func(t *testing.T) {
			for _, algorithm := range algorithms(name) {
				l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
					rank := r.Rank()
					g, err := dist.NewGroup(r, lists.Count(0, 3), dist.Algorithm(algorithm), func(o *dist.GroupOptions) { o.ChunkBytes = 32 })
					if err != nil {
						return err
					}
					var x []*torch.Tensor
					var want []int
					for i := range 3 {
						x = append(x, hostedtest.Full(r, 10*rank+i, 90))
					}
					switch name {
					case "all_gather":
						err, want = dist.AllGather(r, x, x[rank], g), []int{0, 11, 22}
					case "reduce_scatter":
						err, want = dist.ReduceScatter(r, x[rank], x, dist.SUM, g), []int{10 * rank, 10*rank + 1, 10*rank + 2}
						want[rank] = 30 + 3*rank
					}
					for i := range 3 {
						err = errors.Join(err, r.Check(fmt.Sprintf("%s(%s), tensor %d of rank %d", name, algorithm, i, rank), x[i], hostedtest.Fill(want[i], 90)))
					}
					return err
				})
				if err != nil || !l.Checks().OK() {
					t.Errorf("error %v, checks %+v", err, l.Checks())
				}
			}
		})
	}
}
