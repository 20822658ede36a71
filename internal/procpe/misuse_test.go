package procpe

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// here returns a text with the file name and the line number of its caller. `below` is
// added to the line number.
func here(below int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+below)
}

// TestMisuse checks the errors of kernels that use operations wrongly, and that the rank
// can launch other kernels after each error.
func TestMisuse(t *testing.T) {
	vec := tl.Shape{4}
	const queues = ": ranks have no queues between them: Put into a window of the peer and Notify it, and have it WaitSignal"
	const none = ": no signal 8: this kernel has 0 to 7; a scenario says how many with signals: 9"
	for _, c := range []struct {
		kernel func(t *tl.PE, x, own tl.Ptr)
		want   string // LINE stands for line
		line   string
	}{
		{func(t *tl.PE, x, own tl.Ptr) { t.Load(x.At(13), vec, tl.F32) },
			"Load([4] f32) at LINE: bytes 52 to 68 are not all in x [16] f32, which has 64: move the pointer, or mask what lies beyond", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Store(x.At(-1), t.Zeros(vec, tl.F32)) },
			"Store([4] f32) at LINE: bytes -4 to 12 are not all in x [16] f32, which has 64: move the pointer, or mask what lies beyond", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Load(t.Scratch(vec, tl.F32).At(1), vec, tl.F32) },
			"Load([4] f32) at LINE: bytes 4 to 20 are not all in scratch of 16 bytes, which has 16: move the pointer, or mask what lies beyond", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Load(x.Strided(1<<40), vec, tl.F32) },
			"Load([4] f32) at LINE: axis 0 of the block, 4 elements that are 1099511627776 apart, is longer than x [16] f32, which has 64 bytes", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) {
			t.Composite(tl.Stream(tl.OpNeg, x, t.Ref(x.At(13), vec, tl.F32)))
		},
			"Stream(neg, ref [4] f32) at LINE: bytes 52 to 68 are not all in x [16] f32, which has 64: move the pointer, or mask what lies beyond", here(-2)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Load(tl.Ptr{Addr: 64, DType: tl.F32}, vec, tl.F32) },
			"Load([4] f32) at LINE: the pointer is into no memory of this launch: pointers come from its arguments and from Scratch", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Put(0, own, t.Zeros(vec, tl.F32)) },
			"Put(rank 0, [4] f32) at LINE: own [16] f32 is memory of this rank's own: Put and Get are for tensors in a window", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Get(0, x.At(15), vec, tl.F32) },
			"Get(rank 0, [4] f32) at LINE: bytes 60 to 76 are not all in x [16] f32, which has 64: move the pointer, or mask what lies beyond", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Get(1, x, vec, tl.F32) },
			"Get(rank 1, [4] f32) at LINE: no rank 1: this launch has ranks 0 to 0", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Notify(0, 8, tl.Set, 1) }, "Notify(rank 0, signal 8) at LINE" + none, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.WaitSignal(8, tl.EQ, 0) }, "WaitSignal(signal 8) at LINE" + none, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Test(8, tl.EQ, 0) }, "Test(signal 8) at LINE" + none, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Select(tl.CanSignal(0, tl.NE, 0), tl.CanSignal(8, tl.EQ, 0)) },
			"Select(CanSignal(0, NE, 0), CanSignal(8, EQ, 0)) at LINE" + none, here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Send(tl.East, t.Zeros(vec, tl.F32)) }, "Send(east, [4] f32) at LINE" + queues, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Recv(tl.West, vec, tl.F32) }, "Recv(west, [4] f32) at LINE" + queues, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.RecvAny(vec, tl.F32) }, "RecvAny(any, [4] f32) at LINE" + queues, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.RecvAsync(tl.West, vec, tl.F32) }, "RecvAsync(west, [4] f32) at LINE" + queues, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.RecvInto(tl.West, x, vec, tl.F32) }, "RecvInto(west, [4] f32) at LINE" + queues, here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Select(tl.CanSignal(0, tl.EQ, 0), tl.CanRecv(tl.West)) },
			"Select(CanSignal(0, EQ, 0), CanRecv(west)) at LINE" + queues, here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { a := t.Zeros(vec, tl.F32); a.Free(); a.Neg() },
			"Neg([4] f32) at LINE: the tile is no longer there: it was freed, or 4096 bytes of others came after its last use; Pin it, or Free others", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { t.Zeros(tl.Shape{2000}, tl.F16).Neg() },
			"Neg([2000] f16) at LINE: no room for a tile of 4000 bytes: 4064 of 4096 are tiles that are pinned or that it is made of; Free some, or use smaller ones", here(-1)},
		{func(t *tl.PE, x, own tl.Ptr) { x.At(1, 2) }, "At(pointer to f32) at LINE: 2 indices are too many: what it points into has 1 axes", here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { var list []int; list[t.Rank()]++ }, "panic at LINE: runtime error: index out of range [0] with length 0", here(0)},
		{func(t *tl.PE, x, own tl.Ptr) { panic("no way") }, "panic at LINE: no way", here(0)},
	} {
		t.Run(c.line, func(t *testing.T) {
			forEachRank(t, 1, setup{Signals: 8, TileBytes: 4096}, func(comm *comm.Comm, r *Rank) error {
				w, err := comm.AllocWindow(72, 0)
				if err != nil {
					return err
				}
				x := Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{16}, Window: w, Offset: 8}
				own := Tensor{Name: "own", DType: tl.F32, Shape: tl.Shape{16}, Memory: make([]byte, 64)}
				err = r.Launch("wrong", c.kernel, x, own)
				var misuse *tl.Error
				want := "kernel wrong on rank 0: " + strings.ReplaceAll(c.want, "LINE", c.line)
				if !errors.As(err, &misuse) || err.Error() != want {
					t.Errorf("error %v\nwant  %s", err, want)
				}
				if err := r.Launch("right", func(t *tl.PE, x tl.Ptr) { t.Store(x, t.Zeros(vec, tl.F32)) }, x); err != nil {
					t.Errorf("after it: %v", err)
				}
				return nil
			})
		})
	}
}

// TestNotAMember checks the error of a kernel that puts data to a rank which has no part of
// the window.
func TestNotAMember(t *testing.T) {
	const want = "kernel stray on rank 0: Put(rank 1, [1] u8) at LINE: rank 1 of the world has no part of x [2] u8, whose window is shared by [2 0]: use a window that the peer is a member of"
	var line string
	errs := forEachRank(t, 3, setup{}, func(c *comm.Comm, r *Rank) error {
		x := Tensor{Name: "x", DType: tl.U8, Shape: tl.Shape{2}, Memory: make([]byte, 2)}
		if c.Rank() != 1 {
			d, err := c.Domain(2, 0)
			if err != nil {
				return err
			}
			x.Memory = nil
			if x.Window, err = d.AllocWindow(2, 0); err != nil {
				return err
			}
		}
		err := r.Launch("stray", func(t *tl.PE, x tl.Ptr) {
			if t.Rank() == 0 {
				line = here(1)
				t.Put(1, x, t.Zeros(tl.Shape{1}, tl.U8))
			}
		}, x)
		if c.Rank() == 0 {
			if want := strings.ReplaceAll(want, "LINE", line); err == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			return nil
		}
		return err
	})
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestLaunchErrors checks the errors of Launch for invalid kernels and arguments.
func TestLaunchErrors(t *testing.T) {
	one := func(*tl.PE, tl.Ptr) {}
	x := Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{2, 3}, Memory: make([]byte, 30)}
	fits := x
	fits.Memory = make([]byte, 24)
	after := x
	after.Offset = 8
	untyped := x
	untyped.DType = 0
	deep := x
	deep.Shape = tl.Shape{1, 1, 1, 1, 1}
	huge := x
	huge.Shape = tl.Shape{1 << 20, 1 << 20}
	errs := forEachRank(t, 1, setup{}, func(c *comm.Comm, r *Rank) error {
		both := fits
		var err error
		if both.Window, err = c.AllocWindow(24, 0); err != nil {
			return err
		}
		for _, c := range []struct {
			kernel any
			args   []any
			want   string
		}{
			{one, []any{fits}, ""},
			{nil, nil, "k: the kernel is nil"},
			{one, nil, "k takes 1 arguments after the PE, and 0 are given"},
			{one, []any{7}, "argument 1 of k is a tl.Ptr, and 7, a int, is given"},
			{one, []any{&fits}, "argument 1 of k is a tl.Ptr, and x [2 3] f32, a *procpe.Tensor, is given"},
			{func(*tl.PE, int) {}, []any{fits}, "argument 1 of k is a int, and a tensor is given, which is a tl.Ptr"},
			{one, []any{after}, "tensor x [2 3] f32 is 24 bytes, from byte 8 on, of memory that has 30"},
			{one, []any{untyped}, "tensor x has no dtype: use tl.F16 to tl.U64"},
			{one, []any{deep}, "tensor x [1 1 1 1 1] f32 has 5 axes: 4 are the most"},
			{one, []any{huge}, "tensor x [1048576 1048576] f32: axis 0 has 1048576 elements, which no tensor has"},
			{one, []any{both}, "tensor x [2 3] f32 is in memory and in a window: give one"},
		} {
			want := ""
			if c.want != "" {
				want = "launch of k on rank 0: " + c.want
			}
			got := ""
			if err := r.Launch("k", c.kernel, c.args...); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("error %q\nwant  %q", got, want)
			}
		}
		return nil
	})
	if errs[0] != nil {
		t.Error(errs[0])
	}
}
