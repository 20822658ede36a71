package task

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
)

// sample is a random program of one rank. Its values depend on the order of conflicting
// tasks.
type sample struct {
	arrays []array
	tasks  []sampleTask
	cores  int
}

// sampleTask is a task of a sample. All its regions have the same extents.
type sampleTask struct {
	kernel     int // index in kernels
	regions    []regionStart
	extent     []int
	c          int
	members    int
	depth      int  // number of scopes around the task
	opensScope bool // the task begins a new scope
	extraEdges []ID // edges in addition to those that conflicts need
}

// regionStart is the array and the first index of a region.
type regionStart struct {
	array int
	start []int
}

// kernels lists the kernels of sample tasks. compute returns the new element of the last
// region from c and the elements of all regions at one index.
var kernels = []struct {
	name    string
	kernel  any
	access  []func(string, Area) Arg
	compute func(c int32, x ...int32) int32
}{
	{"fill", fill, []func(string, Area) Arg{Out}, func(c int32, x ...int32) int32 { return c }},
	{"affine", affine, []func(string, Area) Arg{InOut}, func(c int32, x ...int32) int32 { return 3*x[0] + c }},
	{"mix", mix, []func(string, Area) Arg{In, In, Out}, func(c int32, x ...int32) int32 { return x[0] - 2*x[1] + c }},
}

// drawTasks draws a number of tasks: usually up to 60, and 2,000 with probability 1/seldom.
// It also returns a random generator for all other choices, because rapid itself prefers
// small numbers.
func drawTasks(t *rapid.T, seldom int) (int, *rand.Rand) {
	tasks := rapid.IntRange(1, 60).Draw(t, "tasks")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	if r.IntN(seldom) == 0 {
		tasks = 2000
	}
	return tasks, r
}

// drawInt draws a number from `least` to `most`, both included.
func drawInt(r *rand.Rand, least, most int) int { return least + r.IntN(most-least+1) }

// drawSample draws a random program with the given number of tasks.
func drawSample(r *rand.Rand, tasks int) *sample {
	s := &sample{cores: drawInt(r, 1, 6), tasks: make([]sampleTask, tasks)}
	axes := drawInt(r, 1, 3)
	most := []int{40, 9, 5}[axes-1]
	least := make([]int, axes)
	for range drawInt(r, 1, 3) {
		a := array{init: func(_, i int) int32 { return int32(i + 1) }}
		for axis := range axes {
			n := drawInt(r, 1, most)
			a.shape = append(a.shape, n)
			if least[axis] == 0 || n < least[axis] {
				least[axis] = n
			}
		}
		s.arrays = append(s.arrays, a)
	}
	depth := 0
	for i := range s.tasks {
		x := &s.tasks[i]
		x.kernel, x.c = drawInt(r, 0, len(kernels)-1), drawInt(r, -9, 9)
		depth = min(6, max(0, depth+drawInt(r, -1, 1)))
		x.depth, x.opensScope = depth, drawInt(r, 0, 3) == 0
		for _, n := range least {
			x.extent = append(x.extent, drawInt(r, 0, n))
		}
		for range kernels[x.kernel].access {
			p := regionStart{array: drawInt(r, 0, len(s.arrays)-1)}
			for axis, n := range x.extent {
				p.start = append(p.start, drawInt(r, 0, s.arrays[p.array].shape[axis]-n))
			}
			x.regions = append(x.regions, p)
		}
		x.members = 1
		if !s.aliases(x) {
			x.members = drawInt(r, 1, s.cores)
		}
		if i > 0 && drawInt(r, 0, 7) == 0 {
			x.extraEdges = []ID{ID(drawInt(r, 0, i-1))}
		}
	}
	return s
}

// aliases reports whether task x reads, through another region, an element that it also
// writes. Then its members would race.
func (s *sample) aliases(x *sampleTask) bool {
	last := len(x.regions) - 1
	written := map[int]bool{}
	s.forElements(x, func(at []int) { written[at[last]] = true })
	found := false
	s.forElements(x, func(at []int) {
		for i, p := range x.regions[:last] {
			found = found || p.array == x.regions[last].array && written[at[i]]
		}
	})
	return found
}

// forElements calls f once for each index of the regions of task x. The argument of f has
// an entry for each region: the position of the region's element at that index, in the
// array of the region.
func (s *sample) forElements(x *sampleTask, f func(at []int)) {
	at, index := make([]int, len(x.regions)), make([]int, len(x.extent))
	for _, n := range x.extent {
		if n == 0 {
			return
		}
	}
	for {
		for i, p := range x.regions {
			at[i] = 0
			for axis, n := range s.arrays[p.array].shape {
				at[i] = at[i]*n + p.start[axis] + index[axis]
			}
		}
		f(at)
		axis := len(index) - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < x.extent[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// expected returns the values that the arrays have after the tasks have run one by one in
// the order of submission.
func (s *sample) expected() contents {
	all := s.job(false).initialContents()
	for i := range s.tasks {
		x := &s.tasks[i]
		var results []int32
		operands := make([]int32, len(x.regions))
		s.forElements(x, func(at []int) { // read everything before anything is written
			for k, p := range x.regions {
				operands[k] = all[p.array][0][at[k]]
			}
			results = append(results, kernels[x.kernel].compute(int32(x.c), operands...))
		})
		last := len(x.regions) - 1
		s.forElements(x, func(at []int) {
			all[x.regions[last].array][0][at[last]] = results[0]
			results = results[1:]
		})
	}
	return all
}

// conflictEdges returns, by task, explicit edges that cover every conflict. A task has an
// edge from the last task that wrote an element that it accesses. For an element that it
// writes, it also has edges from the tasks that have read the element since.
func (s *sample) conflictEdges() [][]ID {
	type history struct {
		writer  ID
		readers []ID
	}
	elements := make([][]history, len(s.arrays))
	for i := range elements {
		elements[i] = make([]history, s.arrays[i].elems())
		for k := range elements[i] {
			elements[i][k].writer = -1
		}
	}
	all := make([][]ID, len(s.tasks))
	for i := range s.tasks {
		x, found := &s.tasks[i], map[ID]bool{}
		s.forElements(x, func(at []int) {
			for k, p := range x.regions {
				e := &elements[p.array][at[k]]
				found[e.writer] = true
				if k < len(at)-1 {
					continue
				}
				for _, r := range e.readers {
					found[r] = true
				}
			}
		})
		s.forElements(x, func(at []int) {
			for k, p := range x.regions[:len(at)-1] {
				e := &elements[p.array][at[k]]
				e.readers = append(e.readers, ID(i))
			}
		})
		s.forElements(x, func(at []int) {
			last := len(at) - 1
			elements[x.regions[last].array][at[last]] = history{writer: ID(i)}
		})
		for id := range found {
			if id >= 0 {
				all[i] = append(all[i], id)
			}
		}
	}
	return all
}

// job returns the program as a job. If `explicit` is set, tasks have edges for all
// conflicts and the extra edges of the sample; if not, they have no edges.
func (s *sample) job(explicit bool) *job {
	edges := make([][]ID, len(s.tasks))
	if explicit {
		edges = s.conflictEdges()
	}
	submit := func(b *Builder, x []*Tensor) {
		var between func(from, to, depth int)
		between = func(from, to, depth int) {
			for i := from; i < to; i++ {
				task := &s.tasks[i]
				if task.depth > depth {
					end := i + 1
					for end < to && s.tasks[end].depth > depth && !(s.tasks[end].opensScope && s.tasks[end].depth == depth+1) {
						end++
					}
					b.Scope(fmt.Sprint("depth ", depth+1), func() { between(i, end, depth+1) })
					i = end - 1
					continue
				}
				k := &kernels[task.kernel]
				var args Args
				for n, p := range task.regions {
					args = append(args, k.access[n](fmt.Sprint("x", n), x[p.array].Box(p.start, task.extent)))
				}
				options := []Option{Group(task.members), After(edges[i]...)}
				if explicit {
					options = append(options, After(task.extraEdges...))
				}
				b.Submit(k.name, k.kernel, append(args, Scalar("c", task.c)), options...)
			}
		}
		between(0, len(s.tasks), 0)
	}
	return &job{ranks: 1, arrays: s.arrays, submit: submit}
}

// minSlots returns the smallest number of slots per task ring with which all scopes of the
// program can end, if there is the given number of rings. The ring of a scope must hold all
// tasks of the scope and of nested scopes that use the same ring. Tasks before the first
// task that belongs to the scope itself do not count.
func (p *Program) minSlots(rings int) int {
	ring := func(t *Task) int { return min(int(t.Depth), rings-1) }
	most := 1
	for scope, s := range p.Scopes {
		n, own := 0, -1
		for i := s.First; i < s.End; i++ {
			if own < 0 && int(p.Tasks[i].Scope) == scope {
				own = ring(&p.Tasks[i])
			}
			if own == ring(&p.Tasks[i]) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// program records and returns the program of a rank without running it.
func (j *job) program(t tester, rank int) *Program {
	t.Helper()
	p, err := Build(context.Background(), rank, j.ranks, func(b *Builder) {
		var x []*Tensor
		for i := range j.arrays {
			x = append(x, b.Declare(Tensor{Name: fmt.Sprint("tensor", i), DType: tl.I32, Shape: j.arrays[i].shape, Window: true}))
		}
		j.submit(b, x)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
