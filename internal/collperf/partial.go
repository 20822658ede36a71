package collperf

import (
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// onePEOfEachCube is the layout of a tensor whose addends are on all cubes of a SIP.
var onePEOfEachCube = torch.DPPolicy{Cube: torch.Partial, NumPEs: 1}

// partial is a tensor with an addend on each cube, and what the host sees of it. A host
// can neither write one addend nor read one copy: a tensor with a part on each of the
// same PEs passes them on.
func (a *party) partial() (x, host *torch.Tensor) {
	x = torch.Must(a.ctx.Zeros(a.dtype, torch.Shape{a.count}, onePEOfEachCube))
	a.tensors = append(a.tensors, x)
	if a.inputs == nil {
		return x, nil
	}
	var pes []int
	for _, s := range x.Shards() {
		pes = append(pes, a.ctx.PE(s.SIP, s.Cube, s.PE))
	}
	a.on = []torch.TensorOption{torch.On(pes...)}
	host = a.tensor(1, a.input)
	a.copy(x, host)
	return x, host
}

// copy has each PE copy its part of a tensor to its part of another.
func (a *party) copy(to, from *torch.Tensor) {
	const most = 1 << 13 // elements at a time
	torch.Must(a.ctx.Launch("copy", func(t *tl.PE, to, from tl.Ptr) {
		for at := 0; at < a.count; at += most {
			shape := tl.Shape{min(most, a.count-at)}
			t.Store(to.Add(at), t.Load(from.Add(at), shape, a.dtype))
		}
	}, to, from))
}
