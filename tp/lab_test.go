package tp

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// systemOf is a context for so many SIPs of 2 cubes with 2 PEs each, or as sets says, in
// which nothing may race.
func systemOf(t testing.TB, sips int, sets ...string) *torch.Context {
	t.Helper()
	if sets == nil {
		sets = []string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1"}
	}
	ctx := laboratory(t, sips, sets)
	t.Cleanup(func() {
		if races, err := ctx.Races(); len(races) > 0 || err != nil {
			t.Errorf("races %q, error %v, want none", races, err)
		}
		ctx.Close()
	})
	return ctx
}

// laboratory is a context for so many SIPs that looks for races.
func laboratory(t rapid.TB, sips int, sets []string) *torch.Context {
	t.Helper()
	spec, err := topology.Load(context.Background(), "ring6", append(sets, fmt.Sprintf("system.sips.count=%d", sips))...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := torch.New(context.Background(), torch.Options{Topology: g, Threads: 1, Race: true})
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// used is how many bytes of HBM tensors take.
func used(ctx *torch.Context) (n memory.Bytes) {
	for _, pe := range ctx.AllPEs() {
		p := ctx.Machine().PE(machine.PEID(pe))
		n += ctx.Machine().Memory(p.Memory(topology.KindHBM)).Allocator.Used()
	}
	return n
}

// spawned runs a worker on each SIP, with process groups and tensor parallelism.
func spawned(t testing.TB, ctx *torch.Context, sips, tensor int, run func(rank int, ctx *torch.Context) error) {
	t.Helper()
	err := ctx.Spawn(func(rank int, ctx *torch.Context) error {
		torch.OK(ctx.Distributed().InitProcessGroup("ahbm"))
		torch.OK(InitializeModelParallel(ctx, tensor, 1, 1, 1, ""))
		return run(rank, ctx)
	}, sips)
	if err != nil {
		t.Fatal(err)
	}
}

// misuse is the *torch.Error that a call panics with, nil if it does not.
func misuse(f func()) (err error) {
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
