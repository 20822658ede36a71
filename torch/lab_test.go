package torch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// lab is a Context for one experiment: what goes wrong ends the test.
type lab struct {
	*torch.Rank
	t *testing.T
}

func newLab(t *testing.T, o torch.Options) *lab {
	t.Helper()
	ctx, err := torch.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ctx.Close)
	return &lab{ctx.Main(), t}
}

// tensor is a tensor of numbers.
func (l *lab) tensor(data []int, dtype torch.DType, on torch.Placement, shape ...int) *torch.Tensor {
	l.t.Helper()
	if shape == nil {
		shape = []int{len(data)}
	}
	x, err := l.FromSlice(data, dtype, shape, on)
	if err != nil {
		l.t.Fatal(err)
	}
	return x
}

func (l *lab) zeros(dtype torch.DType, on torch.Placement, shape ...int) *torch.Tensor {
	l.t.Helper()
	x, err := l.Zeros(dtype, shape, on)
	if err != nil {
		l.t.Fatal(err)
	}
	return x
}

// try launches a kernel and waits for it.
func (l *lab) try(name string, kernel any, args ...any) error {
	r, err := l.Launch(name, kernel, args...)
	if err != nil {
		return err
	}
	return r.Wait()
}

func (l *lab) launch(name string, kernel any, args ...any) *torch.Launched {
	l.t.Helper()
	r, err := l.Launch(name, kernel, args...)
	if err == nil {
		err = r.Wait()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// holds checks the values of a tensor.
func (l *lab) holds(what string, x *torch.Tensor, want []int) {
	l.t.Helper()
	a, err := x.Numpy()
	if err != nil {
		l.t.Fatal(err)
	}
	if i := a.Wrong(want); i >= 0 {
		l.t.Errorf("%s: element %d of %v is %v, want %v", what, i, a.Shape, a.At(i), want[i])
	}
}

// bytes is the values of a tensor.
func (l *lab) bytes(x *torch.Tensor) []byte {
	l.t.Helper()
	a, err := x.Numpy()
	if err != nil {
		l.t.Fatal(err)
	}
	return a.Bytes
}

// resident is how many bytes of values the memories of some PEs hold.
func (l *lab) resident(pes ...int) (n memory.Bytes) {
	for _, pe := range pes {
		p := hosted.Scheduler(l.Context).Machine.PE(machine.PEID(pe))
		for _, kind := range []topology.Kind{topology.KindHBM, topology.KindSRAM, topology.KindTCM} {
			n += hosted.Scheduler(l.Context).Machine.Memory(p.Memory(kind)).Store.Resident()
		}
	}
	return n
}

// count is n numbers from first on.
func count(first, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i
	}
	return list
}

// fill is n times the same number.
func fill(v, n int) []int { return slices.Repeat([]int{v}, n) }

// elapsed returns how long the calling rank takes for what a function asks for.
func elapsed(r *torch.Rank, do func() error) torch.Time {
	torch.OK(r.Synchronize())
	start := r.Now()
	torch.OK(do())
	torch.OK(r.Synchronize())
	return r.Now() - start
}
