package machine

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestTraceNamesOperations checks that each activity of an engine has the name of its
// operation and the line of that operation in the kernel. This includes the activities that
// move messages and the tiles of composites while the CPU runs other operations.
func TestTraceNamesOperations(t *testing.T) {
	for slots, copied := range map[topology.BufferKind]string{topology.BufferTCM: "copy recv 5", topology.BufferHBM: "dma read recv 5"} {
		first := 0
		tr := recordTrace(t, Options{}, func(o Options) *rig {
			r := newRig(t, o)
			x, y, sq := r.tensor(0, 64, 64), r.tensor(0, 64, 64), tl.Shape{64, 64}
			kernel := func(t *tl.PE) {
				_, _, first, _ = runtime.Caller(0)
				a := t.Load(x, tl.Shape{64, 32}, tl.F16)
				m := a.Dot(a.Trans())
				t.Store(y, m.Exp().To(tl.F16))
				s := m.Sum(0)
				in := t.RecvAsync(tl.West, tl.Shape{64}, tl.F32)
				t.Send(tl.East, s)
				t.Notify(1-t.Rank(), 0, tl.Add, 1)
				product := t.Composite(tl.Gemm(t.Ref(x, sq, tl.F16), t.Ref(x, sq, tl.F16), y))
				t.Wait(t.Composite(tl.Stream(tl.OpAdd, y, t.Ref(x, sq, tl.F16), 1)))
				t.Wait(product)
				in.Wait()
			}
			r.run(Program{Targets: []PEID{0, 1}, Links: ring(0, 1), Queues: topology.IPCQ{BufferKind: slots}, Body: kernel})
			return r
		})
		got := map[string]bool{}
		for _, s := range tr.activities {
			on, engine, _ := strings.Cut(s.track, " ")
			file, line, ok := strings.Cut(s.line, ":")
			if on != "sip0.cube0.pe0" || engine == "cpu" {
				continue
			}
			var number int
			if _, err := fmt.Sscan(line, &number); err != nil || !ok || file != "rules_trace_names_test.go" {
				t.Fatalf("%s %s is at %q, want a line of this file", s.track, s.name, s.line)
			}
			got[fmt.Sprintf("%s %s %d", strings.TrimRight(engine, " 0123456789"), s.name, number-first)] = true
		}
		want := []string{copied, "dma read load 1", "dma read stream 8", "dma read stream 9", "dma write notify 7", "dma write send 6", "dma write store 3", "dma write stream 8", "dma write stream 9",
			"fetch add 9", "fetch cast 3", "fetch dot 64×32×64 2", "fetch exp 3", "fetch gemm 64×64×64 8", "fetch sum 4", "fetch trans 2",
			"gemm dot 64×32×64 2", "gemm gemm 64×64×64 8", "math add 9", "math cast 3", "math exp 3", "math sum 4", "math trans 2",
			"store add 9", "store cast 3", "store dot 64×32×64 2", "store exp 3", "store gemm 64×64×64 8", "store sum 4", "store trans 2"}
		slices.Sort(want)
		if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, want) {
			t.Errorf("slots in %s: got\n%s\nwant\n%s", slots, strings.Join(list, "\n"), strings.Join(want, "\n"))
		}
	}
}
