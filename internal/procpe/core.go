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

// core is a rank while it runs a kernel, or one after the other. It implements
// tl.Machine.
type core struct {
	*Rank
	kernel  string
	began   time.Time
	regions []region // tensors of the session, then scratch of the kernel
	tensors int
	tiles   tiles

	// await waits until one of some conditions is so and is its index, that of a local one
	// behind all others: the rank does nothing else meanwhile, or other workers go on.
	await      func(conditions []comm.Condition, locals ...local) (int, error)
	conditions []comm.Condition // of the last wait
	// pause lets other workers go on after a test in vain; nil where there are none.
	pause func() error

	ports    []port                 // by tl.Port, if it is a member of a group with queues
	turn     int                    // port that RecvAny looks at first
	receives map[tl.Handle]*receive // that Wait has not been called for
	asked    uint64                 // receives that had a handle

	eager  exec.Eager
	op     oplog.Op // at hand
	data   [][]byte // of its operands
	result []byte   // of a composite

	reduced [2][]byte // of a reduction over peers: the result so far and the next operand
}

// Place is a system of one cube with a PE for each rank.
func (c *core) Place() tl.Place {
	rank, size := c.comm.Rank(), c.comm.Size()
	return tl.Place{PE: rank, PEs: size, Cubes: 1, SIPs: 1, Rank: rank, Ranks: size, Name: c.name()}
}

// Now is the time since the kernel began, by the clock on the wall.
func (c *core) Now() simtime.Time {
	const most = math.MaxInt64 / time.Duration(simtime.Nanosecond)
	return simtime.Time(min(time.Since(c.began), most)) * simtime.Nanosecond
}

// Print writes what a kernel prints, with the rank before every line.
func (c *core) Print(text string) {
	if c.options.Print == nil {
		return
	}
	// There is nobody to tell of an error: what a kernel computes does not depend on it.
	io.WriteString(c.options.Print, strings.ReplaceAll(text, "\n", "\n["+c.name()+"] ")+"\n")
}

// Compute makes a tile out of others.
func (c *core) Compute(v *tl.Value, cmd *tl.Compute) error {
	if err := c.begin(cmd.Kind, cmd.Args[:cmd.N]); err != nil {
		return err
	}
	if cmd.Kind == oplog.Reshape { // the same bytes under another name
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

// Composite does a command from memory to memory.
func (c *core) Composite(cmd *tl.Composite) (tl.Handle, error) {
	var err error
	if cmd.Kind == oplog.ReducePeers {
		err = c.reduce(cmd)
	} else {
		err = c.begin(cmd.Kind, cmd.Args)
	}
	if err != nil {
		return tl.Handle{}, err
	}
	for _, s := range cmd.Epilogue {
		args, err := c.operands(nil, s.Args)
		if err != nil {
			return tl.Handle{}, err
		}
		c.op.Epilogue = append(c.op.Epilogue, oplog.Step{Math: s.Math, Args: args})
	}
	c.op.Math, c.op.Shape, c.op.DType = cmd.Math, cmd.Out.Shape, cmd.Out.DType
	bytes := c.op.Shape.Elems() * c.op.DType.Size()
	c.result = slices.Grow(c.result[:0], bytes)[:bytes]
	// Not straight to memory: operands may be there.
	c.eager.Compute(&c.op, c.result, c.data)
	return tl.Handle{}, c.write(&cmd.Out, c.result)
}

// reduce begins a reduction over peers: it combines what they have, and leaves the result
// as the only operand. At most two operands of the reduction are in memory at a time.
func (c *core) reduce(cmd *tl.Composite) error {
	total := oplog.Operand{From: 1, Shape: cmd.Args[0].Value.Shape, DType: cmd.Args[0].Value.DType}
	for i := range cmd.Args {
		if err := c.fetch(&c.reduced[min(i, 1)], &cmd.Args[i]); err != nil {
			return err
		}
		if i > 0 {
			c.op = oplog.Op{Kind: oplog.Math, Math: cmd.Math, Shape: total.Shape, DType: total.DType, Args: append(c.op.Args[:0], total, total), Epilogue: c.op.Epilogue[:0]}
			c.eager.Compute(&c.op, c.reduced[0], c.reduced[:])
		}
	}
	c.op = oplog.Op{Kind: cmd.Kind, Args: append(c.op.Args[:0], total), Epilogue: c.op.Epilogue[:0]}
	c.data = append(c.data[:0], c.reduced[0])
	return nil
}

// fetch reads an operand at a peer.
func (c *core) fetch(to *[]byte, a *tl.Arg) error {
	c.delay()
	b := a.Value.Block()
	w, member, x, err := c.atPeer(a.Peer, &b)
	if err != nil {
		return err
	}
	*to = slices.Grow((*to)[:0], int(a.Value.Bytes()))[:a.Value.Bytes()]
	return x.each(func(at, in, n int64) error { return w.Get(member, at, (*to)[in:in+n]) })
}

// begin begins an operation, with its operands.
func (c *core) begin(kind oplog.Kind, args []tl.Arg) (err error) {
	c.op = oplog.Op{Kind: kind, Args: c.op.Args[:0], Epilogue: c.op.Epilogue[:0]}
	c.data = c.data[:0]
	c.op.Args, err = c.operands(c.op.Args, args)
	return err
}

// operands appends operands to a list, and their bytes to the operation's.
func (c *core) operands(to []oplog.Operand, args []tl.Arg) ([]oplog.Operand, error) {
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

// dataOf returns the bytes of a tile, or of memory that stands for one.
func (c *core) dataOf(v *tl.Value) ([]byte, error) {
	if v.InMem {
		return c.memory(v)
	}
	return c.tiles.use(v)
}

// Bytes returns the value of a tile.
func (c *core) Bytes(v tl.Value) ([]byte, error) { return c.tiles.use(&v) }

// Pin keeps a tile until it is freed.
func (c *core) Pin(v tl.Value) error {
	if _, err := c.tiles.use(&v); err != nil {
		return err
	}
	c.tiles.slots[v.Slot].pinned = true
	return nil
}

// Free ends a tile.
func (c *core) Free(v tl.Value) error {
	if _, err := c.tiles.use(&v); err != nil {
		return err
	}
	c.tiles.drop(v.Slot)
	return nil
}
