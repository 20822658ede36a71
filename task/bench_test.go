package task

import (
	"fmt"
	"testing"
	"time"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// increment adds 1 to the n elements of a region.
func increment(t *tl.PE, x tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F32).Add(1))
}

// manyIncrements returns an orchestration of the given number of tasks. Each task adds 1 to
// one of the tiles of x, in turn. The tasks are in scopes of a thousand.
func manyIncrements(x *torch.Tensor, tasks, tiles, elems int) func(b *Builder) {
	return func(b *Builder) {
		own := b.Tensor(x)
		last := make([][]ID, tiles)
		for first := 0; first < tasks; first += 1000 {
			b.Scope(fmt.Sprint("from ", first), func() {
				for i := first; i < min(tasks, first+1000); i++ {
					k := i % tiles
					last[k] = []ID{b.Submit("increment", increment, Args{InOut("x", own.Rows(k*elems, elems)), Scalar("n", elems)}, After(last[k]...))}
				}
			})
		}
	}
}

// BenchmarkTasks measures the time to schedule and simulate a program of 100,000 tasks,
// with and without computing values.
func BenchmarkTasks(b *testing.B) {
	const tasks, tiles, elems = 100_000, 1000, 16
	for _, values := range []bool{false, true} {
		for _, r := range Runtimes {
			b.Run(fmt.Sprintf("values=%v/%s", values, r), func(b *testing.B) {
				for b.Loop() {
					self := newSystem(b, "default", torch.Options{NoData: !values, Threads: 1})
					x, err := self.Zeros(torch.F32, torch.Shape{tiles * elems})
					if err != nil {
						b.Fatal(err)
					}
					c := loadConfig(b, "host_build_graph.tasks=100000", "aicpu_build_graph.tasks=100000")
					began := time.Now()
					if _, err := Run(self, Options{Runtime: r, Config: c, Devices: []int{0}}, manyIncrements(x, tasks, tiles, elems)); err != nil {
						b.Fatal(err)
					}
					if values {
						if _, err := x.Numpy(); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(time.Since(began).Seconds(), "s/run")
				}
			})
		}
	}
}

// BenchmarkDependencies measures the time to find the dependencies of 101,000 tasks. Each
// step of the program updates the tiles of a tensor one by one, and then reads the whole
// tensor.
func BenchmarkDependencies(b *testing.B) {
	const steps, tiles = 1000, 100
	p, err := Build(b.Context(), 0, 1, func(b *Builder) {
		x := b.Declare(Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{tiles, 16}})
		for range steps {
			for k := range tiles {
				b.Submit("update", increment, Args{InOut("x", x.Rows(k, 1)), Scalar("n", 16)})
			}
			b.Submit("norm", func(t *tl.PE, x tl.Ptr) {}, Args{In("x", x)})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	edges := 0
	for b.Loop() {
		edges = 0
		for _, list := range p.Dependencies(true) {
			edges += len(list)
		}
	}
	b.ReportMetric(float64(edges), "edges")
}
