package comm_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
)

// TestContext checks that the context of a window has the rank, the number of ranks, the
// size and the addresses of the window. It also checks that encoding and decoding does not
// change the context, and that all addresses are 0 after the window is closed.
func TestContext(t *testing.T) {
	runOnSizes(t, func(c *comm.Comm) error {
		w, err := c.AllocWindow(72, 1)
		if err != nil {
			return err
		}
		want := comm.Context{Rank: c.Rank(), Ranks: c.Size(), WindowBytes: 72}
		for peer := range c.Size() {
			want.Base = append(want.Base, uint64(uintptr(unsafe.Pointer(&w.Peer(peer)[0]))))
		}
		got := w.Context()
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("got %+v, want %+v", got, want)
		}
		b, err := got.MarshalBinary()
		if err != nil {
			return err
		}
		var back comm.Context
		if err := back.UnmarshalBinary(b); err != nil {
			return err
		}
		if !reflect.DeepEqual(back, want) {
			return fmt.Errorf("there and back: got %+v, want %+v", back, want)
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if got, want := w.Context().Base, make([]uint64, c.Size()); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("bases of a closed window: got %v, want %v", got, want)
		}
		return nil
	})
}

var sample = comm.Context{Rank: 1, Ranks: 2, WindowBytes: 0x102030405, Base: []uint64{0x1000, 0xfedcba9876543210}}

// TestContextBytes checks that an encoded context has exactly the bytes of version 1, on
// which kernels rely.
func TestContextBytes(t *testing.T) {
	b, err := sample.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	const want = "4b424358" + "01000000" + "30000000" + "01000000" + "02000000" + "00000000" +
		"0504030201000000" + "0010000000000000" + "1032547698badcfe"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestContextRefused changes one part of an encoded context to an invalid value. It checks
// the error of UnmarshalBinary, and that UnmarshalBinary leaves its receiver unchanged.
func TestContextRefused(t *testing.T) {
	le := binary.LittleEndian
	tests := []struct {
		name   string
		change func(b []byte) []byte
		kind   error
		want   string
	}{
		{"nothing", func([]byte) []byte { return nil }, nil,
			"no context: 0 bytes that do not begin with KBCX and a header of 32"},
		{"magic", func(b []byte) []byte { b[0]++; return b }, nil,
			"no context: 48 bytes that do not begin with KBCX and a header of 32"},
		{"half a header", func(b []byte) []byte { return b[:31] }, nil,
			"no context: 31 bytes that do not begin with KBCX and a header of 32"},
		{"version", func(b []byte) []byte { le.PutUint32(b[4:], 2); return b }, comm.ErrMismatch,
			"ranks do not agree: a context of version 2, and this program reads version 1: build both from one version of kernbench"},
		{"size", func(b []byte) []byte { le.PutUint32(b[8:], 40); return b }, comm.ErrMismatch,
			"ranks do not agree: a context of 2 ranks says that it has 40 bytes, and 48 are there: it should have 48"},
		{"cut", func(b []byte) []byte { return b[:40] }, comm.ErrMismatch,
			"ranks do not agree: a context of 2 ranks says that it has 48 bytes, and 40 are there: it should have 48"},
		{"ranks", func(b []byte) []byte { le.PutUint32(b[16:], 3); return b }, comm.ErrMismatch,
			"ranks do not agree: a context of 3 ranks says that it has 48 bytes, and 48 are there: it should have 56"},
		{"rank", func(b []byte) []byte { le.PutUint32(b[12:], 2); return b }, comm.ErrRange,
			"out of range: rank 2 of 2 in a context"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := sample.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var c comm.Context
			err = c.UnmarshalBinary(test.change(b))
			if e := commtest.Says(err, test.want); e != nil {
				t.Error(e)
			}
			if test.kind != nil && !errors.Is(err, test.kind) {
				t.Errorf("got %v, want one that is %q", err, test.kind)
			}
			if !reflect.DeepEqual(c, comm.Context{}) {
				t.Errorf("what was refused changed the context to %+v", c)
			}
		})
	}
}
