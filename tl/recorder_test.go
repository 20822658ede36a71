package tl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// recorder is a machine that records its calls, one line per call. Tiles are numbered #1,
// #2 ... in the order of their creation.
type recorder struct {
	calls   []string
	silent  bool  // record nothing, for measurements
	fail    error // the error that every call returns
	wait    error // the error that Wait returns, if not nil
	tiles   int32
	barrier tl.Barrier // shared by all signals
	now     simtime.Time
	line    string // the line of the kernel at the last call
	callers tl.Callers
}

// record records a call and the line of the kernel that makes it, and returns r.fail. The
// function `text` formats the call. A silent recorder does not call `text`, because it must
// not allocate.
func (r *recorder) record(text func() string) error {
	if !r.silent {
		r.calls = append(r.calls, text())
		r.line = r.callers.Line()
	}
	return r.fail
}

func (r *recorder) newTile(v *tl.Value) string {
	r.tiles++
	v.Slot = r.tiles
	return fmt.Sprintf("#%d %v", v.Slot, v)
}

func valueText(v tl.Value) string {
	if v.InMem {
		return fmt.Sprintf("memory %d strides %v %v", v.Ptr.Addr, v.Ptr.Stride[:v.Ptr.Rank], v)
	}
	return fmt.Sprintf("#%d", v.Slot)
}

func argsText(args []tl.Arg) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = valueText(a.Value)
		if a.IsScalar {
			texts[i] = fmt.Sprint(a.Scalar)
		}
		if a.AtPeer {
			texts[i] += fmt.Sprintf(" of rank %d window %d", a.Peer, a.Value.Ptr.Window)
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func blockText(b tl.Block) string {
	text := fmt.Sprintf("%d strides %v", b.Ptr.Addr, b.Ptr.Stride[:b.Ptr.Rank])
	if b.Valid != b.Shape {
		text += fmt.Sprintf(" valid %v fill %v", b.Valid, b.Fill)
	}
	return text
}

func (r *recorder) Place() tl.Place {
	return tl.Place{PE: 3, Cube: 5, SIP: 1, PEs: 8, Cubes: 16, SIPs: 2, Rank: 2, Ranks: 4, Name: "sip1.cube5.pe3"}
}

func (r *recorder) Now() simtime.Time { return r.now }

func (r *recorder) Scratch(n int64) (int64, error) {
	return 4096, r.record(func() string { return fmt.Sprintf("scratch %d bytes", n) })
}

func (r *recorder) Load(v *tl.Value, from tl.Block) error {
	return r.record(func() string { return "load " + r.newTile(v) + " from " + blockText(from) })
}

func (r *recorder) Store(v tl.Value, to tl.Block) error {
	return r.record(func() string { return "store " + valueText(v) + " to " + blockText(to) })
}

func (r *recorder) Compute(v *tl.Value, c *tl.Compute) error {
	return r.record(func() string {
		op := c.Kind.String()
		switch c.Kind {
		case oplog.Math:
			op = c.Math.String()
		case oplog.Reduce:
			op = fmt.Sprintf("%v axis %d", c.Math, c.Axis)
		case oplog.Full:
			op = fmt.Sprintf("Full %v", c.Fill)
		}
		return r.newTile(v) + " = " + op + " " + argsText(c.Args[:c.N])
	})
}

func (r *recorder) Composite(c *tl.Composite) (tl.Handle, error) {
	return tl.Handle{N: 7}, r.record(func() string {
		text := c.Kind.String()
		if c.Kind != oplog.Gemm {
			text += " " + c.Math.String()
		}
		text += " " + argsText(c.Args)
		for _, s := range c.Epilogue {
			text += " " + s.Math.String() + " " + argsText(s.Args)
		}
		return fmt.Sprintf("%s to %v %v at %s", text, c.Out.Shape, c.Out.DType, blockText(c.Out))
	})
}

func (r *recorder) Wait(h tl.Handle) error {
	if r.wait != nil {
		return r.wait
	}
	return r.record(func() string { return fmt.Sprintf("wait %d", h.N) })
}

func (r *recorder) Send(port tl.Port, v tl.Value) error {
	return r.record(func() string { return fmt.Sprintf("send %v %s", port, valueText(v)) })
}

func (r *recorder) Recv(port tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	from := port
	if from == tl.AnyPort {
		from = tl.West
	}
	if wait && r.wait != nil {
		return tl.Handle{}, from, r.wait
	}
	return tl.Handle{N: 9}, from, r.record(func() string {
		text := fmt.Sprintf("recv %v %s", port, r.newTile(v))
		if into != nil {
			text += " into " + blockText(*into)
		}
		if wait {
			text += ", wait"
		}
		return text
	})
}

func (r *recorder) Select(cases []tl.Case) (int, error) {
	return len(cases) - 1, r.record(func() string { return fmt.Sprintf("select %v", cases) })
}

func (r *recorder) Put(peer int, v tl.Value, to tl.Block) error {
	return r.record(func() string {
		return fmt.Sprintf("put %s to rank %d window %d at %s", valueText(v), peer, to.Ptr.Window, blockText(to))
	})
}

func (r *recorder) Get(peer int, v *tl.Value, from tl.Block) error {
	return r.record(func() string {
		return fmt.Sprintf("get %s from rank %d window %d at %s", r.newTile(v), peer, from.Ptr.Window, blockText(from))
	})
}

func (r *recorder) Notify(peer, signal int, op tl.SignalOp, value int64) error {
	return r.record(func() string { return fmt.Sprintf("notify rank %d signal %d op %d value %d", peer, signal, op, value) })
}

func (r *recorder) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	return r.record(func() string { return fmt.Sprintf("wait signal %d cmp %d value %d", signal, cmp, value) })
}

func (r *recorder) TestSignal(signal int, cmp tl.Cmp, value int64) (bool, error) {
	return true, r.record(func() string { return fmt.Sprintf("test signal %d cmp %d value %d", signal, cmp, value) })
}

func (r *recorder) Barrier(int) *tl.Barrier { return &r.barrier }

func (r *recorder) Bytes(v tl.Value) ([]byte, error) {
	return []byte{0, 0x3c, 0, 0xc0}, r.record(func() string { return "bytes " + valueText(v) }) // 1, -2 in f16
}

func (r *recorder) Pin(v tl.Value) error {
	return r.record(func() string { return "pin " + valueText(v) })
}

func (r *recorder) Free(v tl.Value) error {
	return r.record(func() string { return "free " + valueText(v) })
}

func (r *recorder) Print(text string) { r.calls = append(r.calls, text) }
