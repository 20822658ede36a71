package tp

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// Options are those of a parallel layer. The zero value is a layer of f16 without bias
// whose weight is laid out as Spread says, and so is its result.
type Options struct {
	DType torch.DType // of the weight and the result; F16 if it is zero

	// GradDType is the dtype of WeightGrad and BiasGrad: DType, as it is if it is zero, or
	// F32, Megatron's main_grad with gradient_accumulation_fusion.
	GradDType torch.DType

	Bias        bool // the layer has one
	SkipBiasAdd bool // Forward does not add it, and gives it back instead

	// GatherOutput, of a ColumnParallelLinear, has every rank get all columns of the
	// result, and not its own alone.
	GatherOutput bool
	// Gated, of a ColumnParallelLinear, says that the first half of its columns are gates
	// of the second half: a rank has its part of both, and each PE those that belong
	// together side by side, for SwiGLU.
	Gated bool
	// InputIsParallel, of a RowParallelLinear, says that each rank brings its own columns
	// of the input, and not all of them. It is false unless set; Megatron Core's
	// input_is_parallel has no default.
	InputIsParallel bool
	// SequenceParallel says that ranks have rows of their own outside of the layers: a
	// ColumnParallelLinear gathers the rows of its input, a RowParallelLinear scatters
	// those of its result.
	SequenceParallel bool
	// Overlap, of a RowParallelLinear, is the pieces into which the columns of the result
	// are cut, so that one is reduced while the next is computed; 0 and 1 compute all of
	// it first.
	Overlap int

	// Weight is where the weight lies in the device; nil is Spread. Output is where the
	// result lies; nil is where it is made: with columns where the weight has columns,
	// and with rows where PEs share these.
	Weight, Output *torch.DPPolicy
}

func (o *Options) dtype() torch.DType { return cmp.Or(o.DType, torch.F16) }

func (o *Options) gradDType() torch.DType { return cmp.Or(o.GradDType, o.dtype()) }

// weight returns where the weight lies.
func (o *Options) weight() torch.DPPolicy { return *cmp.Or(o.Weight, &Spread) }

// grid returns where the result is made.
func (o *Options) grid() torch.DPPolicy { return Activations(o.weight()) }

// output returns where the result lies.
func (o *Options) output() torch.DPPolicy { return *cmp.Or(o.Output, new(o.grid())) }

// check refuses what no layer can be made of.
func (o *Options) check() error {
	for _, p := range []torch.DPPolicy{o.weight(), o.output()} {
		if p.SIP != torch.Replicate || p.NumSIPs != 0 {
			return fmt.Errorf("placement %v: a layer lies on the device of its rank: leave SIP and NumSIPs out", p)
		}
	}
	switch d := o.dtype(); d {
	case torch.F16, torch.BF16, torch.F32, torch.F64:
		if g := o.gradDType(); g != d && g != torch.F32 {
			return fmt.Errorf("GradDType %v of a layer of %v: gradients are of %[2]v or f32", g, d)
		}
		return nil
	default:
		return fmt.Errorf("dtype %v: a layer is of f16, bf16, f32 or f64", d)
	}
}

// checkOther is check of a layer that is not linear, and has no use for what those have.
func (o *Options) checkOther() error {
	if o.Bias || o.SkipBiasAdd || o.GatherOutput || o.Gated || o.InputIsParallel || o.Overlap != 0 {
		return errors.New("options Bias, SkipBiasAdd, GatherOutput, Gated, InputIsParallel and Overlap are for linear layers: leave them out")
	}
	return o.check()
}

// divide returns a rank's share of a dimension of a layer.
func divide(who, what string, n, size int) (int, error) {
	if n <= 0 {
		return 0, fmt.Errorf("%s: %d %s: there has to be one for each of %d ranks", who, n, what, size)
	}
	if n%size != 0 {
		return 0, fmt.Errorf("%s: %d %s do not divide by the tensor parallel world size %d: choose a multiple", who, n, what, size)
	}
	return n / size, nil
}
