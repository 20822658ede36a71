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

// collectives is all of them, by name.
var collectives = map[string]func(c *caller) call{
	"all_reduce": func(c *caller) call {
		return call{[]slot{c.slot(0, c.same)}, []slot{c.everyone(c.reduce(0, c.rows[0]))},
			func(x []*torch.Tensor) error { return dist.AllReduce(c.Rank, x[0], c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllReduceAsync(c.Rank, x[0], c.reduction.op, c.g)
			}}
	},
	"reduce": func(c *caller) call {
		before, root := c.slot(0, c.same), c.group[c.root]
		after := slices.Clone(before)
		after[c.root] = c.reduce(0, c.rows[0])
		return call{[]slot{before}, []slot{after},
			func(x []*torch.Tensor) error { return dist.Reduce(c.Rank, x[0], root, c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceAsync(c.Rank, x[0], root, c.reduction.op, c.g)
			}}
	},
	"broadcast": func(c *caller) call {
		before, root := c.slot(0, c.same), c.group[c.root]
		return call{[]slot{before}, []slot{c.everyone(before[c.root])},
			func(x []*torch.Tensor) error { return dist.Broadcast(c.Rank, x[0], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.BroadcastAsync(c.Rank, x[0], root, c.g) }}
	},
	"all_gather": func(c *caller) call {
		own := c.slot(0, c.block)
		k := call{[]slot{own}, []slot{own},
			func(x []*torch.Tensor) error { return dist.AllGather(c.Rank, x[1:], x[0], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.AllGatherAsync(c.Rank, x[1:], x[0], c.g) }}
		for _, x := range own {
			k.before, k.after = append(k.before, c.everyone(x).blank()), append(k.after, c.everyone(x))
		}
		return k
	},
	"all_gather_into_tensor": func(c *caller) call {
		own := c.slot(0, c.same)
		all := c.everyone(own...)
		return call{[]slot{own, all.blank()}, []slot{own, all},
			func(x []*torch.Tensor) error { return dist.AllGatherIntoTensor(c.Rank, x[1], x[0], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherIntoTensorAsync(c.Rank, x[1], x[0], c.g)
			}}
	},
	"reduce_scatter": func(c *caller) call {
		list, out := c.parts(c.block)
		return call{append([]slot{out.blank()}, list...), append([]slot{out}, list...),
			func(x []*torch.Tensor) error { return dist.ReduceScatter(c.Rank, x[0], x[1:], c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterAsync(c.Rank, x[0], x[1:], c.reduction.op, c.g)
			}}
	},
	"reduce_scatter_tensor": func(c *caller) call {
		list, out := c.parts(c.same)
		in := joined(list)
		return call{[]slot{out.blank(), in}, []slot{out, in},
			func(x []*torch.Tensor) error {
				return dist.ReduceScatterTensor(c.Rank, x[0], x[1], c.reduction.op, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterTensorAsync(c.Rank, x[0], x[1], c.reduction.op, c.g)
			}}
	},
	"all_to_all": func(c *caller) call {
		in, out := c.pairs()
		k := call{slices.Clone(in), slices.Concat(in, out),
			func(x []*torch.Tensor) error { return dist.AllToAll(c.Rank, x[len(in):], x[:len(in)], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllAsync(c.Rank, x[len(in):], x[:len(in)], c.g)
			}}
		for _, s := range out {
			k.before = append(k.before, s.blank())
		}
		return k
	},
	"all_to_all_single": func(c *caller) call {
		var inSplits, outSplits []int
		if c.rank < 0 {
			c.rows = c.rows[:1] // all ranks have the same splits
		} else {
			for peer := range c.group {
				inSplits, outSplits = append(inSplits, c.pair(c.rank, peer)), append(outSplits, c.pair(peer, c.rank))
			}
		}
		ins, outs := c.pairs()
		in, out := joined(ins), joined(outs)
		return call{[]slot{in, out.blank()}, []slot{in, out},
			func(x []*torch.Tensor) error {
				return dist.AllToAllSingle(c.Rank, x[1], x[0], outSplits, inSplits, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllSingleAsync(c.Rank, x[1], x[0], outSplits, inSplits, c.g)
			}}
	},
	"all_to_all_in_place": func(c *caller) call {
		c.inPlace()
		in, out := c.pairs()
		return call{in, out,
			func(x []*torch.Tensor) error { return dist.AllToAll(c.Rank, x, x, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllAsync(c.Rank, x, slices.Clone(x), c.g)
			}}
	},
	"all_to_all_single_in_place": func(c *caller) call {
		c.inPlace()
		var splits []int
		if c.rank >= 0 && len(c.rows) > 1 {
			for peer := range c.group {
				splits = append(splits, c.pair(c.rank, peer))
			}
		}
		ins, outs := c.pairs()
		return call{[]slot{joined(ins)}, []slot{joined(outs)},
			func(x []*torch.Tensor) error { return dist.AllToAllSingle(c.Rank, x[0], x[0], splits, splits, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllToAllSingleAsync(c.Rank, x[0], x[0], splits, splits, c.g)
			}}
	},
	"gather": func(c *caller) call {
		own, root := c.slot(0, c.block), c.group[c.root]
		k := call{[]slot{own}, []slot{own},
			func(x []*torch.Tensor) error { return dist.Gather(c.Rank, x[0], x[1:], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.GatherAsync(c.Rank, x[0], x[1:], root, c.g) }}
		for _, x := range own {
			blank := c.everyone(x).blank()
			k.before, k.after = append(k.before, c.rooted(blank, blank)), append(k.after, c.rooted(c.everyone(x), blank))
		}
		return k
	},
	"scatter": func(c *caller) call {
		list, out := c.parts(c.block)
		for rank := range out {
			out[rank] = list[rank][c.root]
			list[rank] = c.rooted(list[rank], list[rank])
		}
		root := c.group[c.root]
		return call{append([]slot{out.blank()}, list...), append([]slot{out}, list...),
			func(x []*torch.Tensor) error { return dist.Scatter(c.Rank, x[0], x[1:], root, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) { return dist.ScatterAsync(c.Rank, x[0], x[1:], root, c.g) }}
	},
	"sendrecv": func(c *caller) call { // from the root to the next one
		from, to := c.group[c.root], c.group[(c.root+1)%len(c.group)]
		before := c.slot(0, c.same)
		after := slices.Clone(before)
		after[(c.root+1)%len(c.group)] = before[c.root]
		return call{[]slot{before}, []slot{after},
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
	"all_reduce_coalesced": func(c *caller) call {
		var before, after []slot
		for i, rows := range c.several() {
			before, after = append(before, c.slot(i, rows)), append(after, c.everyone(c.reduce(i, rows(0))))
		}
		return call{before, after,
			func(x []*torch.Tensor) error { return dist.AllReduceCoalesced(c.Rank, x, c.reduction.op, c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllReduceCoalescedAsync(c.Rank, x, c.reduction.op, c.g)
			}}
	},
	"all_gather_coalesced": func(c *caller) call {
		var own, lists, blank []slot
		for i, rows := range c.several() {
			own = append(own, c.slot(i, rows))
			for _, x := range own[i] {
				lists, blank = append(lists, c.everyone(x)), append(blank, c.everyone(x).blank())
			}
		}
		cut := func(x []*torch.Tensor) [][]*torch.Tensor {
			return slices.Collect(slices.Chunk(x[len(own):], len(c.group)))
		}
		return call{slices.Concat(own, blank), slices.Concat(own, lists),
			func(x []*torch.Tensor) error { return dist.AllGatherCoalesced(c.Rank, cut(x), x[:len(own)], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherCoalescedAsync(c.Rank, cut(x), x[:len(own)], c.g)
			}}
	},
	"all_gather_into_tensor_coalesced": func(c *caller) call {
		var own, all, blank []slot
		for i, rows := range c.several() {
			own = append(own, c.slot(i, rows))
			all = append(all, c.everyone(own[i]...))
			blank = append(blank, all[i].blank())
		}
		n := len(own)
		return call{slices.Concat(own, blank), slices.Concat(own, all),
			func(x []*torch.Tensor) error { return dist.AllGatherIntoTensorCoalesced(c.Rank, x[n:], x[:n], c.g) },
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.AllGatherIntoTensorCoalescedAsync(c.Rank, x[n:], x[:n], c.g)
			}}
	},
	"reduce_scatter_tensor_coalesced": func(c *caller) call {
		var in, out, blank []slot
		for _, rows := range c.several() {
			list, reduced := c.parts(rows)
			in, out, blank = append(in, joined(list)), append(out, reduced), append(blank, reduced.blank())
		}
		n := len(in)
		return call{slices.Concat(in, blank), slices.Concat(in, out),
			func(x []*torch.Tensor) error {
				return dist.ReduceScatterTensorCoalesced(c.Rank, x[n:], x[:n], c.reduction.op, c.g)
			},
			func(x []*torch.Tensor) (*dist.Work, error) {
				return dist.ReduceScatterTensorCoalescedAsync(c.Rank, x[n:], x[:n], c.reduction.op, c.g)
			}}
	},
	"barrier": func(c *caller) call {
		return call{nil, nil,
			func([]*torch.Tensor) error { return dist.Barrier(c.Rank, c.g) },
			func([]*torch.Tensor) (*dist.Work, error) { return dist.BarrierAsync(c.Rank, c.g) }}
	},
}

// parts is a block for each rank of what every rank has, and their reductions.
func (tr trial) parts(rows func(rank int) int) (list []slot, reduced slot) {
	for rank := range tr.group {
		list = append(list, tr.slot(rank, func(int) int { return rows(rank) }))
		reduced = append(reduced, tr.reduce(rank, rows(rank)))
	}
	return list, reduced
}

// several is the rows of three blocks, which may differ.
func (tr trial) several() (list []func(int) int) {
	for i := range 3 {
		list = append(list, func(int) int { return tr.rows[i%len(tr.rows)] })
	}
	return list
}

// pairs is what every rank has for each rank, and gets from each.
func (tr trial) pairs() (in, out []slot) {
	for peer := range tr.group {
		in = append(in, tr.slot(peer, func(rank int) int { return tr.pair(rank, peer) }))
		out = append(out, make(slot, len(tr.group)))
	}
	for from := range tr.group {
		for to := range tr.group {
			out[from][to] = in[to][from]
		}
	}
	return in, out
}

// machines is the systems of trials: as many SIPs as there are workers, and three for
// PEs, of two cubes of four PEs each.
func machines(t testing.TB) func(tr trial) torch.Options {
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

// usual is a trial to begin with.
func usual(collective string, spawned bool, world int) trial {
	return trial{
		spawned: spawned, collective: collective, algorithm: "ring", world: world, group: lists.Count(0, world), dtype: torch.I32, reduction: reductions[0],
		root: world / 2, rows: []int{5}, layout: layouts[0],
	}
}

// possible reports whether there is such a thing.
func (tr trial) possible() bool {
	return tr.collective != "sendrecv" || tr.spawned && len(tr.group) > 1
}

// ofParts reports whether the collective is on parts of one tensor.
func (tr trial) ofParts() bool {
	return strings.Contains(tr.collective, "_tensor") || strings.Contains(tr.collective, "_single")
}

func names() []string { return slices.Sorted(maps.Keys(collectives)) }

// algorithms is those that do a collective.
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

// Every collective, with every algorithm, in both modes, on all worlds: with blocks of
// several messages, small ones, and none at all.
func TestEveryCollectiveOnEveryWorld(t *testing.T) {
	options := machines(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			for i, algorithm := range algorithms(name) {
				for _, world := range []int{1, 2, 3, 6, 7, 12} {
					for j, spawned := range []bool{false, true} {
						for k, rows := range []int{19*world + 3, 1, 0} {
							tr := usual(name, spawned, world)
							tr.algorithm, tr.async, tr.rows, tr.chunk = algorithm, (i+j+k)%2 == 0, []int{rows}, 32
							if !tr.possible() || world > 7 && (spawned || rows > 1) || world != 3 && rows == 1 {
								continue
							}
							if strings.HasSuffix(name, "_coalesced") && world != 3 && world != 12 {
								continue // queues and inboxes
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

// Every reduction on every dtype that it is for.
func TestEveryReductionOfEveryDType(t *testing.T) {
	options := machines(t)
	for _, r := range reductions {
		for i, dtype := range numeric.DTypes {
			for j, name := range []string{"all_reduce", "reduce", "reduce_scatter_tensor"} {
				tr := usual(name, (i+j)%2 == 0, 5)
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

// Every collective on tensors that workers lay out in every way; on parts of one tensor
// only where they lie in one piece.
func TestEveryLayout(t *testing.T) {
	options := machines(t)
	for _, layout := range layouts {
		for _, name := range names() {
			for _, shape := range [][2]int{{7, 0}, {7, 3}, {6, 4}, {1, 5}} {
				tr := usual(name, true, 3)
				tr.layout, tr.rows, tr.width = layout, shape[:1], shape[1]
				if layout.name == "a grid" && tr.width == 0 {
					continue // rows of rows
				}
				err := tr.run(options(tr))
				if tr.ofParts() && layout.scattered {
					if err == nil || !strings.Contains(err.Error(), scattered) {
						t.Errorf("%v: error %v, want one with %q", tr, err, scattered)
					}
				} else if err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

const scattered = "does not lie in one piece: cut it by columns, or by rows without copies, or give it to one PE"

// An all-reduce of partial tensors sums over the addends too; an average divides by the
// ranks alone. What is not a sum is refused.
func TestAllReduceOfPartialTensors(t *testing.T) {
	options := machines(t)
	for _, layout := range partials {
		for i, r := range reductions {
			for _, world := range []int{1, 2, 7} {
				tr := usual("all_reduce", true, world)
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

// Only an all-reduce makes sense of a partial tensor.
func TestOtherCollectivesOfPartialTensors(t *testing.T) {
	options := machines(t)
	for _, name := range names() {
		tr := usual(name, true, 2)
		tr.layout = partials[0]
		if strings.HasPrefix(name, "all_reduce") || name == "barrier" {
			continue
		}
		want := "brings a partial tensor, whose holders have addends: all-reduce it first"
		if err := tr.run(options(tr)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", tr, err, want)
		}
	}
}

// Lists of tensors, and splits, of different sizes, some of them empty.
func TestUnevenBlocks(t *testing.T) {
	options := machines(t)
	for _, name := range []string{"all_gather", "reduce_scatter", "gather", "scatter", "all_to_all", "all_to_all_single"} {
		for i, rows := range [][]int{{3, 0, 5, 1}, {0, 0, 0, 0, 2}, {1500, 1, 0}, {0, 4}} {
			for _, algorithm := range algorithms(name) {
				tr := usual(name, true, 4)
				tr.rows, tr.algorithm, tr.width, tr.async, tr.layout = rows, algorithm, 2, i == 2, layouts[i]
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
				tr = usual(name, false, 4)
				tr.rows, tr.algorithm = onPEs(rows, 4), algorithm
				if err := tr.run(options(tr)); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// onPEs is the total of rows as On cuts it.
func onPEs(rows []int, n int) []int {
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

// A group has its own order of ranks, and roots are ranks of the world.
func TestCollectivesOfSubgroups(t *testing.T) {
	options := machines(t)
	for _, name := range names() {
		for i, group := range [][]int{{4}, {3, 1}, {5, 0, 2}, {4, 3, 2, 1, 0}, {2, 5, 1, 4, 0, 3}} {
			for j, spawned := range []bool{false, true} {
				tr := usual(name, spawned, 6)
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

// Worlds of PEs that are no power of two, and larger than a cube and a SIP.
func TestLargeWorlds(t *testing.T) {
	for _, algorithm := range algorithms("all_reduce") {
		tr := usual("all_reduce", false, 200)
		tr.algorithm, tr.rows = algorithm, []int{2}
		if err := tr.run(torch.Options{}); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
	}
}

// Lists to receive may have the tensor that is sent, at its place.
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
