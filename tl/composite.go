package tl

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Command is a command that [PE.Composite] starts: [Gemm], [Stream] or [ReducePeers].
type Command struct {
	kind     oplog.Kind
	math     Op
	operands []any // of Gemm and Stream
	out      Ptr

	x     Ptr // of ReducePeers, like the fields below
	shape Shape
	dtype DType
	peers []int // nil for all ranks
}

// Gemm returns a command that multiplies the matrices a and b and writes the product to the
// memory at `out`, converted to the dtype of `out`. Operands are refs or tiles. Refs may be
// far larger than TCM; they are streamed from memory tile by tile. Tiles stay in TCM until
// the command ends.
func Gemm(a, b Tile, out Ptr) Command {
	return Command{kind: oplog.Gemm, operands: []any{a, b}, out: out}
}

// Stream returns a command that applies an elementwise operation to refs, tiles and numbers
// and writes the result to the memory at `out`, converted to the dtype of `out`.
func Stream(op Op, out Ptr, args ...any) Command {
	return Command{kind: oplog.Stream, math: op, operands: args, out: out}
}

// Do returns a step of an epilogue that applies op to the result so far and to args. The
// step computes in the dtype that the command's result has before it is written, such as
// f32 for a Gemm of f16. args are converted to that dtype and broadcast to the result's
// shape.
func Do(op Op, args ...any) Step { return Step{Math: op, operands: args} }

// Composite starts a command that reads its operands from memory, computes and writes
// its result to memory while the kernel continues. Each step of the epilogue is applied
// to the result before it is written. The memory that the command reads and writes is
// safe to use after [PE.Wait].
func (t *PE) Composite(cmd Command, epilogue ...Step) Handle {
	if cmd.kind == 0 {
		panic(t.fail("Composite", "", errors.New("a zero Command does nothing: make one with Gemm, Stream or ReducePeers")))
	}
	c := &Composite{Kind: cmd.kind, Math: cmd.math}
	d, err := t.command(c, &cmd)
	if err != nil {
		panic(t.fail(cmd.kind.String(), cmd.text(), err))
	}
	for _, s := range epilogue {
		step, err := t.step(s, c.Out.Shape, d)
		if err != nil {
			panic(t.fail("Do", commandText(s.Math, s.operands), err))
		}
		c.Epilogue = append(c.Epilogue, step)
	}
	h, err := t.m.Composite(c)
	if err != nil {
		panic(t.fail(cmd.kind.String(), cmd.text(), err))
	}
	return h
}

// Wait waits for a command to end. For a zero Handle it returns at once.
func (t *PE) Wait(h Handle) {
	if err := t.wait(h); err != nil {
		panic(t.fail("Wait", "", err))
	}
}

func (t *PE) wait(h Handle) error {
	if h == (Handle{}) {
		return nil
	}
	return t.m.Wait(h)
}

// command fills in c from cmd, except for the epilogue of c. It returns the dtype in which
// the epilogue computes.
func (t *PE) command(c *Composite, cmd *Command) (d DType, err error) {
	if cmd.kind == oplog.ReducePeers {
		return cmd.dtype, t.reducePeers(c, cmd)
	}
	if c.Args, err = t.arguments(cmd.operands); err != nil {
		return 0, err
	}
	var s oplog.Shape
	if cmd.kind == oplog.Gemm {
		s, err = productShape(&c.Args[0].Value, &c.Args[1].Value)
		d = numeric.DotType(c.Args[0].Value.DType)
	} else if err = checkStream(cmd.math, len(c.Args)); err == nil {
		s, d, err = checkElementwise(cmd.math, c.Args)
	}
	if err != nil {
		return 0, err
	}
	if err = c.Out.set(&cmd.out, s, cmd.out.DType, nil); err == nil {
		err = c.Out.inShard()
	}
	return d, err
}

// step checks a step of an epilogue and converts it to the form that the machine takes.
// shape and d are the shape and dtype of the result to which the step is applied.
func (t *PE) step(s Step, shape oplog.Shape, d DType) (Step, error) {
	args, err := t.arguments(s.operands)
	if err != nil {
		return Step{}, err
	}
	if s.Math == numeric.Where {
		return Step{}, errors.New("a result is no condition: use Stream(OpWhere, ...)")
	}
	if err := checkStream(s.Math, 1+len(args)); err != nil {
		return Step{}, err
	}
	for i := range args {
		if both, ok := broadcast(args[i].Value.Shape, shape); !ok || both != shape {
			return Step{}, fmt.Errorf("%v does not broadcast to the result's %s", args[i].Value, shape.String())
		}
	}
	return Step{Math: s.Math, Args: args}, checkDefined(s.Math, d, args)
}

// checkStream returns an error if composites cannot apply op to n operands.
func checkStream(op Op, n int) error {
	if !op.IsElementwise() || op.IsComparison() {
		return fmt.Errorf("%v is no operation of composites: use tl.OpAdd to tl.OpXor", op)
	}
	if want := op.Arity(); n != want {
		return fmt.Errorf("%v takes %d operands, a step's result included, and has %d", op, want, n)
	}
	return nil
}

func (t *PE) arguments(operands []any) ([]Arg, error) {
	args := make([]Arg, len(operands))
	for i, x := range operands {
		if err := t.argument(&args[i], x, true); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// text returns the operands of a command as errors show them.
func (cmd *Command) text() string {
	if cmd.kind != oplog.ReducePeers {
		return commandText(cmd.math, cmd.operands)
	}
	of := "all ranks"
	if cmd.peers != nil {
		of = fmt.Sprint("ranks ", cmd.peers)
	}
	return fmt.Sprintf("%v, %s %v of %s", cmd.math, cmd.shape.String(), cmd.dtype, of)
}

// commandText formats a command or a step for errors: "add, ref [64] f16, 2".
func commandText(op Op, operands []any) string {
	text := operandsText(operands)
	if op == 0 {
		return text
	}
	if text == "" {
		return op.String()
	}
	return op.String() + ", " + text
}
