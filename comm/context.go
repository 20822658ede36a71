package comm

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// ContextVersion is the version of the bytes of a [Context].
const ContextVersion = 1

// Context is what a kernel knows of a window: whose it is and where its parts are.
type Context struct {
	Rank, Ranks int
	WindowBytes int64
	Base        []uint64 // address of each rank's part, as this rank sees it; 0 where it cannot
}

// The bytes of a context are a header and the bases, little-endian:
//
//	0   "KBCX"          4   version
//	8   size in bytes   12  rank
//	16  ranks           20  0
//	24  bytes of the window
//	32  bases, 8 bytes each
const contextHeader = 32

// Context is that of the window for this rank.
func (w *Window) Context() Context {
	c := Context{Rank: w.comm.rank, Ranks: w.comm.size, WindowBytes: w.bytes, Base: make([]uint64, w.comm.size)}
	for r := range c.Base {
		if b := w.Peer(r); len(b) > 0 {
			c.Base[r] = uint64(uintptr(unsafe.Pointer(&b[0])))
		}
	}
	return c
}

// MarshalBinary is the context as bytes, for kernels that are not in Go.
func (c Context) MarshalBinary() ([]byte, error) {
	le := binary.LittleEndian
	b := append(make([]byte, 0, contextHeader+8*len(c.Base)), "KBCX"...)
	b = le.AppendUint32(b, ContextVersion)
	b = le.AppendUint32(b, uint32(contextHeader+8*len(c.Base)))
	b = le.AppendUint32(b, uint32(c.Rank))
	b = le.AppendUint32(b, uint32(c.Ranks))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, uint64(c.WindowBytes))
	for _, base := range c.Base {
		b = le.AppendUint64(b, base)
	}
	return b, nil
}

// UnmarshalBinary reads a context, and refuses what is none of this version.
func (c *Context) UnmarshalBinary(b []byte) error {
	le := binary.LittleEndian
	if len(b) < contextHeader || string(b[:4]) != "KBCX" {
		return fmt.Errorf("no context: %d bytes that do not begin with KBCX and a header of %d", len(b), contextHeader)
	}
	if v := le.Uint32(b[4:]); v != ContextVersion {
		return fmt.Errorf("%w: a context of version %d, and this program reads version %d: build both from one version of kernbench", ErrMismatch, v, ContextVersion)
	}
	rank, ranks := le.Uint32(b[12:]), le.Uint32(b[16:])
	if size := le.Uint32(b[8:]); int(size) != len(b) || int64(size) != contextHeader+8*int64(ranks) {
		return fmt.Errorf("%w: a context of %d ranks says that it has %d bytes, and %d are there: it should have %d",
			ErrMismatch, ranks, size, len(b), contextHeader+8*int64(ranks))
	}
	if rank >= ranks {
		return fmt.Errorf("%w: rank %d of %d in a context", ErrRange, rank, ranks)
	}
	*c = Context{Rank: int(rank), Ranks: int(ranks), WindowBytes: int64(le.Uint64(b[24:])), Base: make([]uint64, ranks)}
	for i := range c.Base {
		c.Base[i] = le.Uint64(b[contextHeader+8*i:])
	}
	return nil
}
