package tp

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// newSystem creates a context with the given number of SIPs, and returns its main rank.
// Each of `sets` changes one value of the topology. Without `sets`, each SIP has 2 cubes of
// 2 PEs. The test fails if the context detects a race.
func newSystem(t testing.TB, sips int, sets ...string) *torch.Rank {
	t.Helper()
	if sets == nil {
		sets = []string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1"}
	}
	r := newContext(t, sips, sets)
	t.Cleanup(func() {
		if races, err := r.Races(); len(races) > 0 || err != nil {
			t.Errorf("races %q, error %v, want none", races, err)
		}
		r.Close()
	})
	return r
}

// newContext creates a context with the given number of SIPs, and returns its main rank.
// Each of `sets` changes one value of the topology. The context detects races.
func newContext(t rapid.TB, sips int, sets []string) *torch.Rank {
	t.Helper()
	spec, err := topology.Load(context.Background(), "ring6", append(sets, fmt.Sprintf("system.sips.count=%d", sips))...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := torch.New(context.Background(), torch.Options{Topology: g, Threads: 1, Race: true})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	return r
}

// usedHBM returns the number of bytes of HBM that tensors occupy on the system of r.
func usedHBM(r *torch.Rank) (n memory.Bytes) {
	for _, pe := range r.AllPEs() {
		p := hosted.Scheduler(r.Context).Machine.PE(machine.PEID(pe))
		n += hosted.Scheduler(r.Context).Machine.Memory(p.Memory(topology.KindHBM)).Allocator.Used()
	}
	return n
}

// spawn starts a worker on each SIP. The worker creates the process groups with the given
// tensor parallel size, and then calls `run`.
func spawn(t testing.TB, r *torch.Rank, sips, tensor int, run func(r *torch.Rank) error) {
	t.Helper()
	err := r.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, tensor, 1, 1, 1, ""))
		return run(r)
	}, sips)
	if err != nil {
		t.Fatal(err)
	}
}

// panicError returns the *torch.Error with which f panics, or nil if it does not panic.
func panicError(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			wrong, ok := v.(*torch.Error)
			if !ok {
				panic(v)
			}
			err = wrong
		}
	}()
	f()
	return nil
}
