package topology

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/host/hosttest"
)

// TestTooLarge checks that Compile returns an error for a graph that does not fit in
// memory, before it allocates the graph.
func TestTooLarge(t *testing.T) {
	hosttest.SetMemory(t, 2000)
	for _, tt := range []struct {
		sets []string
		want string
	}{
		{[]string{"system.sips.count=65536"},
			"a system of 65536 SIPs with 4×4 cubes of 4×4 routers: 7.24 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: make it smaller"},
		{[]string{"sip.cube_mesh.w=1024", "sip.cube_mesh.h=1024"},
			"a system of 2 SIPs with 1024×1024 cubes of 4×4 routers: 36.1 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: make it smaller"},
	} {
		spec, err := Load(t.Context(), "default", tt.sets...)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = Compile(spec)
		runtime.ReadMemStats(&after)
		var short *host.MemoryError
		if !errors.As(err, &short) || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.sets, err, tt.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%v: allocated %d bytes, want less than 1 MiB", tt.sets, n)
		}
	}
}

// TestGraphBytes checks that graphBytes returns at least the size of the lists of a graph,
// and at most three times that size.
func TestGraphBytes(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"system.sips.count=64"},
		{"system.sips.count=1", "sip.cube_mesh.w=32", "sip.cube_mesh.h=32"},
		{"cube.noc.w=64", "cube.noc.h=64"},
	} {
		spec, err := Load(t.Context(), "default", sets...)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		takes := uint64(len(g.sip))*uint64(unsafe.Sizeof(Node{})) + uint64(len(g.links))*uint64(unsafe.Sizeof(Link{})) + 4*uint64(len(g.first))
		if got := spec.graphBytes(); got < takes || got > 3*takes {
			t.Errorf("%v: estimated %d bytes, want %d to %d", sets, got, takes, 3*takes)
		}
	}
}
