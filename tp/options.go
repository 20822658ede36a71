package tp

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// Options are the options of a parallel layer. The zero value is a layer of f16 without
// bias, whose weight and result have the placement Spread.
type Options struct {
	DType torch.DType // dtype of the weight and the result; 0 means F16

	// GradDType is the dtype of WeightGrad and BiasGrad: DType, or F32 as Megatron's
	// main_grad with gradient_accumulation_fusion; 0 means DType.
	GradDType torch.DType

	Bias        bool // the layer has a bias
	SkipBiasAdd bool // Forward does not add the bias, but returns it

	// GatherOutput gives every rank all columns of the result of a ColumnParallelLinear,
	// not only its own.
	GatherOutput bool
	// Gated says that the first half of the columns of a ColumnParallelLinear are gates of
	// the second half, for SwiGLU. A rank has its part of both halves, and each PE has
	// gates next to the columns that they gate.
	Gated bool
	// InputIsParallel says that the input of a RowParallelLinear has only the rank's own
	// columns. The default is false; input_is_parallel of Megatron Core has no default.
	InputIsParallel bool
	// SequenceParallel says that each rank has its own rows outside of the layers: a
	// ColumnParallelLinear gathers the rows of its input, and a RowParallelLinear scatters
	// the rows of its result.
	SequenceParallel bool
	// Overlap is the number of pieces into which a RowParallelLinear divides the columns of
	// its result. It reduces one piece while it computes the next. With 0 or 1 it computes
	// the whole result first.
	Overlap int

	// Weight is the placement of the weight within the device; nil means Spread. Output is
	// the placement of the result; nil means Activations(Weight), where each PE stores what
	// it computes.
	Weight, Output *torch.DPPolicy
}

func (o *Options) dtype() torch.DType { return cmp.Or(o.DType, torch.F16) }

func (o *Options) gradDType() torch.DType { return cmp.Or(o.GradDType, o.dtype()) }

// weight returns the placement of the weight: the option Weight, or Spread if there is
// none.
func (o *Options) weight() torch.DPPolicy { return *cmp.Or(o.Weight, &Spread) }

// grid returns the placement of the result in which each PE stores the elements that it
// computes.
func (o *Options) grid() torch.DPPolicy { return Activations(o.weight()) }

// output returns the placement of the result: the option Output or, without this option,
// the result of grid.
func (o *Options) output() torch.DPPolicy { return *cmp.Or(o.Output, new(o.grid())) }

// check returns an error if the options have a placement or a dtype that no layer supports.
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

// checkNonLinear checks the options of a layer that is not linear. It returns an error if
// o.check returns one, or if an option is set that only linear layers have.
func (o *Options) checkNonLinear() error {
	if o.Bias || o.SkipBiasAdd || o.GatherOutput || o.Gated || o.InputIsParallel || o.Overlap != 0 {
		return errors.New("options Bias, SkipBiasAdd, GatherOutput, Gated, InputIsParallel and Overlap are for linear layers: leave them out")
	}
	return o.check()
}

// divide returns n/size, a rank's share of n. It returns an error if n is not a positive
// multiple of size. `who` and `what` are the names of the layer and of n in the error.
func divide(who, what string, n, size int) (int, error) {
	if n <= 0 {
		return 0, fmt.Errorf("%s: %d %s: there has to be one for each of %d ranks", who, n, what, size)
	}
	if n%size != 0 {
		return 0, fmt.Errorf("%s: %d %s do not divide by the tensor parallel world size %d: choose a multiple", who, n, what, size)
	}
	return n / size, nil
}
