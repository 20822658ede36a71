package tl

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Command is work that [PE.Composite] starts: [Gemm], [Stream] or [ReducePeers].
type Command struct {
	kind     oplog.Kind
	math     Op
	operands []any // of Gemm and Stream
	out      Ptr

	x     Ptr // of ReducePeers, as are all below
	shape Shape
	dtype DType
	peers []int // nil is all ranks
}

// Gemm is the matrix product of a and b, written to out as out's dtype. Operands
// are refs, which may be far larger than TCM and are streamed from memory tile by
// tile, or tiles, which stay in TCM meanwhile.
func Gemm(a, b Tile, out Ptr) Command {
	return Command{kind: oplog.Gemm, operands: []any{a, b}, out: out}
}

// Stream is an elementwise operation on refs, tiles and numbers, written to out as
// out's dtype.
func Stream(op Op, out Ptr, args ...any) Command {
	return Command{kind: oplog.Stream, math: op, operands: args, out: out}
}

// Do is a step of an epilogue: op of what came before it and of args. It is done in
// the dtype of the command's result before that is written, f32 for a Gemm of f16;
// args are converted to it and broadcast to the result's shape.
func Do(op Op, args ...any) Step { return Step{Math: op, operands: args} }

// Composite starts a command that reads its operands from memory, computes and
// writes its result to memory while the kernel goes on. Each step of the epilogue
// is applied to the result on its way out. What it reads and writes is safe to use
// after [PE.Wait].
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

// Wait waits for a command to end. There is nothing to wait for in a zero Handle.
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

// command fills in a composite but for its epilogue, and says in which dtype that
// is done.
func (t *PE) command(c *Composite, cmd *Command) (d DType, err error) {
	if cmd.kind == oplog.ReducePeers {
		return cmd.dtype, t.reducePeers(c, cmd)
	}
	if c.Args, err = t.arguments(cmd.operands); err != nil {
		return 0, err
	}
	var s oplog.Shape
	if cmd.kind == oplog.Gemm {
		s, err = product(&c.Args[0].Value, &c.Args[1].Value)
		d = numeric.DotType(c.Args[0].Value.DType)
	} else if err = streams(cmd.math, len(c.Args)); err == nil {
		s, d, err = elementwise(cmd.math, c.Args)
	}
	if err != nil {
		return 0, err
	}
	if err = c.Out.set(&cmd.out, s, cmd.out.DType, nil); err == nil {
		err = c.Out.inShard()
	}
	return d, err
}

// step is a step of an epilogue as the machine takes it.
func (t *PE) step(s Step, shape oplog.Shape, d DType) (Step, error) {
	args, err := t.arguments(s.operands)
	if err != nil {
		return Step{}, err
	}
	if s.Math == numeric.Where {
		return Step{}, errors.New("a result is no condition: use Stream(OpWhere, ...)")
	}
	if err := streams(s.Math, 1+len(args)); err != nil {
		return Step{}, err
	}
	for i := range args {
		if both, ok := broadcast(args[i].Value.Shape, shape); !ok || both != shape {
			return Step{}, fmt.Errorf("%v does not broadcast to the result's %s", args[i].Value, shape.String())
		}
	}
	return Step{Math: s.Math, Args: args}, defined(s.Math, d, args)
}

// streams reports why an operation on n operands is not for composites.
func streams(op Op, n int) error {
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

// commandText is a command or a step as errors show it: "add, ref [64] f16, 2".
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
