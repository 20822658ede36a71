package tp

import (
	"errors"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// layer is a linear layer of either kind.
type layer interface {
	Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error)
	Backward(x, dy *torch.Tensor) (dx *torch.Tensor, err error)
	ZeroGrad() error
	Free() error
}

// TestNoLeak checks that a layer which runs out of memory, at any point of Forward or
// Backward, frees everything that it has allocated. With enough memory, it must allocate
// only its result and its gradients.
func TestNoLeak(t *testing.T) {
	const rows, in, out = 64, 64, 96
	for what, o := range map[string]Options{
		"columns": {Bias: true}, "columns, sequence": {SequenceParallel: true}, "columns, wide": {SequenceParallel: true, Weight: &torch.DPPolicy{NumCubes: 1, NumPEs: 1}},
		"rows": {Bias: true}, "rows, sequence": {InputIsParallel: true, SequenceParallel: true}, "rows, pieces": {InputIsParallel: true, Bias: true, Overlap: 3},
		"rows, sequence, pieces": {InputIsParallel: true, SequenceParallel: true, Overlap: 2}, "rows by tokens": {Bias: true, Weight: &ByTokens},
		"columns by tokens": {SequenceParallel: true, Bias: true, Weight: &ByTokens},
	} {
		r := newSystem(t, 2, smallTCM...)
		failures := [2]int{}
		spawn(t, r, 2, 2, func(r *torch.Rank) error {
			pe := hosted.Scheduler(r.Context).Machine.PE(machine.PEID(r.PE(r.Rank(), 0, 0)))
			hbm := &hosted.Scheduler(r.Context).Machine.Memory(pe.Memory(topology.KindHBM)).Allocator // no other PE uses more
			bytes := func() memory.Bytes {
				torch.OK(r.Synchronize())
				return hbm.Used()
			}
			var l layer
			name, cols := "ColumnParallelLinear fc: ", in
			switch {
			case what == "columns, wide": // rows of x do not fit in TCM and are copied to memory
				cols = 1024
				l = torch.Must(NewColumnParallelLinear(r, "fc", cols, 2*blockCols+16, o))
			case strings.HasPrefix(what, "columns"):
				l = torch.Must(NewColumnParallelLinear(r, "fc", in, out, o))
			default:
				name = "RowParallelLinear fc: "
				l = torch.Must(NewRowParallelLinear(r, "fc", in, out, o))
				if o.InputIsParallel {
					cols = in / 2
				}
			}
			x := torch.Must(r.Zeros(torch.F16, torch.Shape{rows, cols}, Spread))
			y, _, err := l.Forward(x)
			torch.OK(err)
			torch.OK(y.Free())
			bytes() // wait until y is freed
			dy := torch.Must(r.Zeros(torch.F16, y.Shape(), Spread))
			before := bytes()
			for way, run := range []func() (*torch.Tensor, error){
				func() (*torch.Tensor, error) {
					y, _, err := l.Forward(x)
					return y, err
				},
				func() (*torch.Tensor, error) {
					dx, err := l.Backward(x, dy)
					if err == nil {
						torch.OK(l.ZeroGrad())
					}
					return dx, err
				},
			} {
				for room := memory.Bytes(1 << 10); room < 2<<20; room += room/8/256*256 + 256 {
					ballast := torch.Must(r.Empty(torch.I8, torch.Shape{int(hbm.Size - before - room)}, torch.DPPolicy{}))
					y, err := run()
					if err == nil {
						torch.OK(y.Free())
					} else if failures[way]++; !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), "out of memory") {
						t.Errorf("%s with %v free: got %v, want %s… out of memory", what, room, err, name)
					}
					torch.OK(ballast.Free())
					if after := bytes(); after != before {
						t.Errorf("%s with %v free, error %v: %v in use after it, want %v as before", what, room, err, after, before)
					}
					if err == nil {
						break
					}
				}
			}
			return errors.Join(x.Free(), dy.Free(), l.Free())
		})
		if n := usedHBM(r); n > 0 || min(failures[0], failures[1]) == 0 {
			t.Errorf("%s: %v are not freed after %d failures, want nothing after some", what, n, failures)
		}
	}
}
