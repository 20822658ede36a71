package scenario

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"

	"github.com/kernbench/kernbench/internal/stack"
	"github.com/kernbench/kernbench/numeric"
)

// Inputs returns the buffers that have initial values. They are set before each round.
func (pl *Plan) Inputs() (list []*Buffer) {
	for _, b := range pl.Buffers {
		if pl.scenario.buffers[b.index].init.exists() {
			list = append(list, b)
		}
	}
	return list
}

// Input computes the initial values of buffer b at a rank before a round, as elements of
// the buffer's dtype.
func (pl *Plan) Input(b *Buffer, rank, round int) ([]byte, error) {
	return pl.computeValues(pl.scenario.buffers[b.index].init, b, rank, round)
}

// ValueBytes estimates how many bytes of memory are needed to compute the initial or golden
// values of buffer b at one rank. If a Go function computes the values, the estimate
// includes the function's result, which has type float64.
func (pl *Plan) ValueBytes(b *Buffer) uint64 {
	filled := pl.scenario.buffers[b.index].init.fill != nil
	for _, o := range pl.Outputs {
		filled = filled || o.Buffer == b && pl.scenario.outputs[o.index].fill != nil
	}
	if filled {
		return uint64(b.Bytes()) + 8*uint64(b.Elems())
	}
	return uint64(b.Bytes())
}

// Golden computes the golden values of output o at a rank after a round, as elements of the
// buffer's dtype.
func (pl *Plan) Golden(o *Output, rank, round int) ([]byte, error) {
	return pl.computeValues(pl.scenario.outputs[o.index], o.Buffer, rank, round)
}

// cancelInterval is the number of elements between checks whether the context has ended.
const cancelInterval = 1 << 14

// computeValues computes all elements of buffer b at a rank in a round. s is the expression
// or the Go function that defines the values.
func (pl *Plan) computeValues(s source, b *Buffer, rank, round int) ([]byte, error) {
	out := make([]byte, b.Bytes())
	if s.fill == nil && !slices.Contains(s.expr.uses, slotI) { // all elements are equal
		n := min(b.Elems(), 1)
		err := pl.evaluate(s.expr, b, rank, round, out, 0, n)
		for n *= b.DType.Size(); n > 0 && n < len(out); n *= 2 {
			copy(out[n:], out[:n])
		}
		return out, err
	}
	if s.fill == nil {
		return out, pl.evaluate(s.expr, b, rank, round, out, 0, b.Elems())
	}
	values := make([]float64, b.Elems())
	e := Env{Rank: rank, Ranks: pl.Ranks, Root: pl.Root, Round: round, Device: pl.Devices[rank], Shape: slices.Clone(b.Shape), params: pl.params}
	if err := s.fill.call(pl.ctx, s.name, e, values); err != nil {
		if pl.ctx.Err() != nil {
			return nil, context.Cause(pl.ctx)
		}
		return nil, pl.scenario.doc.Errorf(s.path, "%v", err)
	}
	for i, v := range values {
		if i%cancelInterval == 0 && pl.ctx.Err() != nil {
			return nil, context.Cause(pl.ctx)
		}
		if err := store(b.DType, out, i, number{fraction: true, f: v}); err != nil {
			return nil, pl.scenario.doc.Errorf(s.path, "element %d at rank %d in round %d: %v", i, rank, round, err)
		}
	}
	return out, nil
}

// evaluate computes expression x for the elements i of buffer b with `from` <= i < `to`. It
// stores the values at the start of `out`.
func (pl *Plan) evaluate(x *expr, b *Buffer, rank, round int, out []byte, from, to int) error {
	values := pl.valuesAt(rank, round)
	for i := from; i < to; i++ {
		if i%cancelInterval == 0 && pl.ctx.Err() != nil {
			return context.Cause(pl.ctx)
		}
		values[slotI] = wholeNumber(i)
		v, err := x.root.eval(values)
		if err == nil {
			err = store(b.DType, out, i-from, v)
		}
		if err == nil {
			continue
		}
		if e, ok := err.(*exprError); ok {
			err = &exprError{e.at, fmt.Errorf("%w, with i = %d at rank %d in round %d", e.err, i, rank, round)}
		} else {
			err = &exprError{0, fmt.Errorf("element %d at rank %d in round %d: %w", i, rank, round, err)}
		}
		return pl.errorInExpr(x, err)
	}
	return nil
}

// store writes number v to element i of `out`, which has dtype d. It returns an error if
// the dtype cannot hold the number.
func store(d numeric.DType, out []byte, i int, v number) error {
	if d.IsFloat() {
		numeric.Set(d, out, i, v.float())
		if math.IsInf(numeric.Get(d, out, i), 0) && !math.IsInf(v.float(), 0) {
			return fmt.Errorf("%v is more than %v holds: use smaller values or a larger dtype", v, d)
		}
		return nil
	}
	if v.fraction && v.f != math.Trunc(v.f) {
		return fmt.Errorf("%v is no whole number, and the dtype is %v: use floor", v, d)
	}
	n := v.n
	if v.fraction {
		n = int64(v.f)
	}
	numeric.SetInt(d, out, i, n)
	if numeric.GetInt(d, out, i) != n || !d.IsSigned() && n < 0 || v.fraction && math.Abs(v.f) >= 1<<63 {
		return fmt.Errorf("%v is more than %v holds: use smaller values or a larger dtype", v, d)
	}
	return nil
}

// triedElements is the number of elements at each end of a buffer that are computed
// before a run.
const triedElements = 1024

// checkValues computes some elements of each input and each output before a run. It records
// a mistake for values that cannot be computed. It also records a mistake if the run has
// several rounds and the first two have the same inputs.
func (pl *Plan) checkValues(p *problems) {
	s := pl.scenario
	for i, b := range pl.Buffers {
		pl.tryValues(p, s.buffers[i].init, b, b.On)
	}
	for _, o := range pl.Outputs {
		pl.tryValues(p, s.outputs[o.index], o.Buffer, o.On)
	}
	if pl.Rounds > 1 && len(p.errs) == 0 && !pl.inputsChange() {
		p.addAt("buffers", "%d rounds, and no input changes from one to the next: use round in an init, such as i + 10*round", pl.Rounds)
	}
}

// tryValues computes the first and the last triedElements elements of buffer b and records
// the first mistake. It computes them for every rank for which the function `on` returns
// true, in the first and the last round. If s is a Go function, it computes them for only
// one rank and one round.
func (pl *Plan) tryValues(p *problems, s source, b *Buffer, on func(rank int) bool) {
	if !s.exists() {
		return
	}
	n := b.Elems()
	out := make([]byte, min(n, triedElements)*b.DType.Size())
	for _, round := range pl.SomeRounds() {
		for rank := range pl.Ranks {
			if !on(rank) {
				continue
			}
			var err error
			if s.fill != nil {
				_, err = pl.computeValues(s, b, rank, round)
			} else if err = pl.evaluate(s.expr, b, rank, round, out, 0, min(n, triedElements)); err == nil {
				err = pl.evaluate(s.expr, b, rank, round, out, max(0, n-triedElements), n)
			}
			if err != nil {
				p.addError(err)
			}
			if err != nil || s.fill != nil {
				return
			}
		}
	}
}

// inputsChange reports whether the values of any input differ between the first and the
// second round.
func (pl *Plan) inputsChange() bool {
	for _, b := range pl.Inputs() {
		for rank := range pl.Ranks {
			if !b.On(rank) {
				continue
			}
			first, err := pl.Input(b, rank, 0)
			second, wrong := pl.Input(b, rank, 1)
			if err != nil || wrong != nil || !bytes.Equal(first, second) {
				return true // the run reports an error, if any
			}
		}
	}
	return false
}

// Fill computes all elements of a buffer in row-major order. The caller rounds them to the
// dtype. An error says what is wrong with the parameters.
type Fill func(e Env, out []float64) error

// Env describes to a Fill the buffer, the rank and the round whose values it computes. Root
// is 0 unless the scenario uses the root. If only a Fill uses the root, the file must have
// the key root.
type Env struct {
	Rank, Ranks, Root, Round, Device int
	Shape                            []int // the shape of the buffer

	params map[string]Param
}

// Int returns the value of a parameter, which must be a whole number. If the file has no
// such parameter, Int panics. Then the Fill ends and the file is refused.
func (e Env) Int(param string) int {
	s, ok := e.params[param]
	if !ok || s.Words != nil || s.number.fraction {
		panic(missingParam(param))
	}
	return int(s.number.n)
}

// missingParam is the name of a parameter that a function needs and the file does not have.
type missingParam string

// call runs f and waits until it returns or ctx ends. f cannot observe ctx: if ctx ends
// first, f continues in its goroutine and its result is ignored. `name` is the name of f in
// errors.
func (f Fill) call(ctx context.Context, name string, e Env, out []float64) error {
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("the function %s ended its goroutine: return an error instead", name)
		defer func() {
			switch v := recover().(type) {
			case nil:
			case missingParam:
				err = fmt.Errorf("the function wants a parameter %s that is a whole number: add it to params, which has %s", string(v), joinNames(slices.Sorted(maps.Keys(e.params))))
			default:
				line, _ := stack.Line(string(debug.Stack()))
				err = fmt.Errorf("the function %s panicked at %s (rank %d, round %d): %v", name, line, e.Rank, e.Round, v)
			}
			done <- err
		}()
		err = f(e, out)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
