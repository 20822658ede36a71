package runner

import (
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// stagingBytes is the most that a launch of the staging kernel copies at a rank, if a quarter
// of the TCM has room for it. It is a multiple of all bursts of the channels of a memory.
const stagingBytes = 256 << 10

// stage copies the staged buffers into the windows of their ranks, and adds the time. Blocks
// are launches of their own, so that a block is read when the block before is written, and
// the time is the sum of the times of blocks alone.
func (s *simulation) stage(r *Result) error {
	spec := s.Topology().Spec()
	for _, t := range s.tensors {
		if !t.Staged {
			continue
		}
		elems := t.Elems()
		block := int(min(stagingBytes, int64(spec.PE.TCM.Size)/4)) / t.Buffer.DType.Size()
		for at := 0; at < elems; at += block {
			l, err := s.Launch("staging", copyBlock, torch.PEs(s.pesOf(t)...), t.own, t.Tensor, at, min(block, elems-at))
			if err == nil {
				err = l.Wait()
			}
			if err != nil {
				return err
			}
			*r.Staging += nanoseconds(l.Crit())
		}
	}
	return nil
}

// copyBlock copies n elements, from element at on.
func copyBlock(t *tl.PE, from, to tl.Ptr, at, n int) {
	from, to = from.Strided(1), to.Strided(1)
	t.Store(to.At(at), t.Load(from.At(at), tl.Shape{n}, from.DType))
}
