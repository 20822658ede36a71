package procpe

import (
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// core executes the operations of kernels, one kernel after the other. It implements
// tl.Machine.
type core struct {
	*Rank
	kernel  string // name of the running kernel
	start   time.Time
	regions []region // tensors of the session, then scratch of the kernel
	tensors int      // number of tensors in regions
	tiles   tiles

	// await waits until one of the conditions is true and returns its index; indices of
	// local conditions follow those of signals. For a worker of a session, other workers
	// run meanwhile; otherwise the whole rank waits.
	await      func(conditions []comm.Condition, locals ...localWait) (int, error)
	conditions []comm.Condition // conditions of the last wait, kept for reuse
	// pause lets other workers run after a test that was false; nil without workers.
	pause func() error

	ports    []port                 // queues by tl.Port, if the worker is a member of a group
	turn     int                    // port that RecvAny checks first
	receives map[tl.Handle]*receive // receives for which the kernel has not called Wait
	handles  uint64                 // number of handles returned so far

	eager  exec.Eager
	op     oplog.Op // the operation in progress
	data   [][]byte // bytes of its operands
	result []byte   // result of a composite

	reduceBuffers [2][]byte // of a reduction over peers: the result so far and the next operand
}

// Place returns the position of this rank for the kernel: the ranks appear as the PEs of a
// system with one cube.
func (c *core) Place() tl.Place {
	rank, size := c.comm.Rank(), c.comm.Size()
	return tl.Place{PE: rank, PEs: size, Cubes: 1, SIPs: 1, Rank: rank, Ranks: size, Name: c.name()}
}

// Now returns the wall-clock time since the kernel started.
func (c *core) Now() simtime.Time {
	const maxDuration = math.MaxInt64 / time.Duration(simtime.Nanosecond)
	return simtime.Time(min(time.Since(c.start), maxDuration)) * simtime.Nanosecond
}

// Print writes text that a kernel prints. The first line already begins with the rank;
// Print puts the rank before every further line.
func (c *core) Print(text string) {
	if c.options.Print == nil {
		return
	}
	// An error is ignored: the results of the kernel do not depend on the output.
	io.WriteString(c.options.Print, strings.ReplaceAll(text, "\n", "\n["+c.name()+"] ")+"\n")
}

// Compute runs the operation cmd on tiles and stores the result in the new tile v.
func (c *core) Compute(v *tl.Value, cmd *tl.Compute) error {
	if err := c.setOp(cmd.Kind, cmd.Args[:cmd.N]); err != nil {
		return err
	}
	if cmd.Kind == oplog.Reshape { // the result shares the bytes of the operand
		v.Slot, v.Turn = cmd.Args[0].Value.Slot, cmd.Args[0].Value.Turn
		return nil
	}
	var keep [len(cmd.Args)]int32
	for i := range cmd.Args[:cmd.N] {
		keep[i] = cmd.Args[i].Value.Slot
	}
	tile, err := c.tiles.add(v, keep[:]...)
	if err != nil {
		return err
	}
	c.op.Math, c.op.Axis, c.op.Fill = cmd.Math, int8(cmd.Axis), cmd.Fill
	c.op.Shape, c.op.DType = v.Shape, v.DType
	c.eager.Compute(&c.op, tile, c.data)
	return nil
}

// Composite runs a composite, which reads memory, computes and writes memory. The composite
// has ended when Composite returns.
func (c *core) Composite(cmd *tl.Composite) (tl.Handle, error) {
	var err error
	if cmd.Kind == oplog.ReducePeers {
		err = c.reducePeers(cmd)
	} else {
		err = c.setOp(cmd.Kind, cmd.Args)
	}
	if err != nil {
		return tl.Handle{}, err
	}
	for _, s := range cmd.Epilogue {
		args, err := c.appendOperands(nil, s.Args)
		if err != nil {
			return tl.Handle{}, err
		}
		c.op.Epilogue = append(c.op.Epilogue, oplog.Step{Math: s.Math, Args: args})
	}
	c.op.Math, c.op.Shape, c.op.DType = cmd.Math, cmd.Out.Shape, cmd.Out.DType
	bytes := c.op.Shape.Elems() * c.op.DType.Size()
	c.result = slices.Grow(c.result[:0], bytes)[:bytes]
	// Not directly to memory: the output may overlap with operands.
	c.eager.Compute(&c.op, c.result, c.data)
	return tl.Handle{}, c.write(&cmd.Out, c.result)
}

// reducePeers runs the first part of a reduction over peers: it combines the operands of
// all peers and makes the result the only operand of the operation. It holds at most two
// operands of peers in memory at a time.
func (c *core) reducePeers(cmd *tl.Composite) error {
	total := oplog.Operand{From: 1, Shape: cmd.Args[0].Value.Shape, DType: cmd.Args[0].Value.DType}
	for i := range cmd.Args {
		if err := c.readAtPeer(&c.reduceBuffers[min(i, 1)], &cmd.Args[i]); err != nil {
			return err
		}
		if i > 0 {
			c.op = oplog.Op{Kind: oplog.Math, Math: cmd.Math, Shape: total.Shape, DType: total.DType, Args: append(c.op.Args[:0], total, total), Epilogue: c.op.Epilogue[:0]}
			c.eager.Compute(&c.op, c.reduceBuffers[0], c.reduceBuffers[:])
		}
	}
	c.op = oplog.Op{Kind: cmd.Kind, Args: append(c.op.Args[:0], total), Epilogue: c.op.Epilogue[:0]}
	c.data = append(c.data[:0], c.reduceBuffers[0])
	return nil
}

// readAtPeer reads operand a, which is in the memory of a peer, into *to.
func (c *core) readAtPeer(to *[]byte, a *tl.Arg) error {
	c.delay()
	b := a.Value.Block()
	w, member, x, err := c.locateAtPeer(a.Peer, &b)
	if err != nil {
		return err
	}
	*to = slices.Grow((*to)[:0], int(a.Value.Bytes()))[:a.Value.Bytes()]
	return x.each(func(at, in, n int64) error { return w.Get(member, at, (*to)[in:in+n]) })
}

// setOp starts a new operation of the given kind in c.op. It sets the operands of the
// operation, and stores their bytes in c.data.
func (c *core) setOp(kind oplog.Kind, args []tl.Arg) (err error) {
	c.op = oplog.Op{Kind: kind, Args: c.op.Args[:0], Epilogue: c.op.Epilogue[:0]}
	c.data = c.data[:0]
	c.op.Args, err = c.appendOperands(c.op.Args, args)
	return err
}

// appendOperands converts args to operands and appends them to the list `to`. It also
// appends the bytes of each operand to c.data.
func (c *core) appendOperands(to []oplog.Operand, args []tl.Arg) ([]oplog.Operand, error) {
	for i := range args {
		v := &args[i].Value
		if args[i].IsScalar {
			to, c.data = append(to, oplog.Operand{Scalar: args[i].Scalar}), append(c.data, nil)
			continue
		}
		data, err := c.dataOf(v)
		if err != nil {
			return nil, err
		}
		to, c.data = append(to, oplog.Operand{From: 1, Shape: v.Shape, DType: v.DType}), append(c.data, data)
	}
	return to, nil
}

// dataOf returns the bytes of v, which is a tile or a Ref.
func (c *core) dataOf(v *tl.Value) ([]byte, error) {
	if v.InMem {
		return c.refBytes(v)
	}
	return c.tiles.use(v)
}

// Bytes returns the bytes of a tile.
func (c *core) Bytes(v tl.Value) ([]byte, error) { return c.tiles.use(&v) }

// Pin protects a tile from eviction until the tile is freed.
func (c *core) Pin(v tl.Value) error {
	if _, err := c.tiles.use(&v); err != nil {
		return err
	}
	c.tiles.slots[v.Slot].pinned = true
	return nil
}

// Free removes a tile, so that its memory can be used for other tiles.
func (c *core) Free(v tl.Value) error {
	if _, err := c.tiles.use(&v); err != nil {
		return err
	}
	c.tiles.drop(v.Slot)
	return nil
}
