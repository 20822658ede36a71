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

// contextHeader is what the bytes of a context begin with. The bases follow, from byte 32 on,
// 8 bytes each. All is little-endian.
type contextHeader struct {
	Magic       [4]byte // byte 0: contextMagic
	Version     uint32  // byte 4
	Size        uint32  // byte 8: bytes, with the bases
	Rank, Ranks uint32  // bytes 12 and 16
	_           uint32  // byte 20
	WindowBytes int64   // byte 24
}

const contextHeaderBytes = 32

var contextMagic = [4]byte([]byte("KBCX"))

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
	b, err := binary.Append(nil, binary.LittleEndian, contextHeader{
		Magic: contextMagic, Version: ContextVersion, Size: uint32(contextHeaderBytes + 8*len(c.Base)),
		Rank: uint32(c.Rank), Ranks: uint32(c.Ranks), WindowBytes: c.WindowBytes,
	})
	if err != nil {
		return nil, err
	}
	return binary.Append(b, binary.LittleEndian, c.Base)
}

// UnmarshalBinary reads a context, and refuses what is none of this version.
func (c *Context) UnmarshalBinary(b []byte) error {
	var h contextHeader
	if _, err := binary.Decode(b, binary.LittleEndian, &h); err != nil || h.Magic != contextMagic {
		return fmt.Errorf("no context: %d bytes that do not begin with KBCX and a header of %d", len(b), contextHeaderBytes)
	}
	if h.Version != ContextVersion {
		return fmt.Errorf("%w: a context of version %d, and this program reads version %d: build both from one version of kernbench", ErrMismatch, h.Version, ContextVersion)
	}
	if want := contextHeaderBytes + 8*int64(h.Ranks); int(h.Size) != len(b) || int64(h.Size) != want {
		return fmt.Errorf("%w: a context of %d ranks says that it has %d bytes, and %d are there: it should have %d",
			ErrMismatch, h.Ranks, h.Size, len(b), want)
	}
	if h.Rank >= h.Ranks {
		return fmt.Errorf("%w: rank %d of %d in a context", ErrRange, h.Rank, h.Ranks)
	}
	*c = Context{Rank: int(h.Rank), Ranks: int(h.Ranks), WindowBytes: h.WindowBytes, Base: make([]uint64, h.Ranks)}
	_, err := binary.Decode(b[contextHeaderBytes:], binary.LittleEndian, c.Base)
	return err
}
