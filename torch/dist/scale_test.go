package dist_test

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// newThousandSIPs returns the main rank of a context without values, on a torus of 1,024
// SIPs with 131,072 PEs.
func newThousandSIPs(tb testing.TB) *torch.Rank {
	tb.Helper()
	spec, err := topology.Load(context.Background(), "default", "system.sips.topology=torus_2d", "system.sips.count=1024")
	if err != nil {
		tb.Fatal(err)
	}
	graph, err := topology.Compile(spec)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := torch.New(context.Background(), torch.Options{Topology: graph, NoData: true})
	if err != nil {
		tb.Fatal(err)
	}
	r := c.Main()
	return r
}

// measure runs a program on 1,024 SIPs. As metrics of the benchmark, it reports the time,
// the CPU time, the memory, the number of events and the simulated time of the last
// collective. The time includes the compilation of the topology. The memory is all memory
// that the process obtained from the operating system.
func measure(b *testing.B, run func(r *torch.Rank) error) {
	began := cpuTime()
	for b.Loop() {
		self := newThousandSIPs(b)
		if err := run(self); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(hosted.Scheduler(self.Context).Machine.Engine.Events()), "events")
		b.ReportMetric(dist.Last(self.Context).Crit.NS(), "crit-ns")
		self.Close()
	}
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	b.ReportMetric(float64(used.Sys)/(1<<30), "GiB")
	b.ReportMetric((cpuTime()-began).Seconds()/float64(b.N), "cpu-s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
	b.ReportMetric(0, "ns/op")
}

// cpuTime returns the CPU time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAllReduce16384 measures an all-reduce of 1,024 workers. The tensor of each
// worker is partial: each of its 16 cubes has an addend of 4 KiB on one PE.
func BenchmarkAllReduce16384(b *testing.B) {
	one := torch.DPPolicy{Cube: torch.Partial, PE: torch.Replicate, NumPEs: 1}
	for _, algorithm := range []string{"tree", "center_root"} {
		b.Run(algorithm, func(b *testing.B) {
			measure(b, func(r *torch.Rank) error {
				return r.Spawn(func(r *torch.Rank) error {
					if err := dist.InitProcessGroup(r, dist.Backend, dist.Algorithm(algorithm)); err != nil {
						return err
					}
					x, err := r.Zeros(torch.F16, torch.Shape{2048}, one)
					if err != nil {
						return err
					}
					return dist.AllReduce(r, x, dist.SUM)
				}, 1024)
			})
		})
	}
}

// BenchmarkAsync1024 measures how long the scheduler takes to keep streams in order. 1,024
// workers enqueue four all-reduces of 32 B on different tensors before they wait for the
// first.
func BenchmarkAsync1024(b *testing.B) {
	measure(b, func(r *torch.Rank) error {
		return r.Spawn(func(r *torch.Rank) error {
			if err := dist.InitProcessGroup(r, dist.Backend, dist.Algorithm("tree")); err != nil {
				return err
			}
			for range 4 {
				x, err := r.Zeros(torch.F16, torch.Shape{16})
				if err != nil {
					return err
				}
				if _, err := dist.AllReduceAsync(r, x, dist.SUM); err != nil {
					return err
				}
			}
			return r.Synchronize()
		}, 1024)
	})
}
