package comm

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/kernbench/kernbench/tl"
)

// control is the memory that the ranks of a communicator use to talk about it. Each
// has a block of it:
//
//	abort     a word: 1 + the rank that failed first, of the world
//	waits     a word: odd while the rank sleeps in a wait
//	looks     a word: how often it has looked in vain since it sleeps
//	text      what the rank itself failed of
//	doing     what it waits for
//	flags     a line for each round of the barrier
//	boxes     a line for each other rank
//
// Only the world's first five are in use. Lines are 64 bytes, so that words that
// different ranks write do not share one.
type control struct {
	Segment
	local []byte
}

const (
	line       = 64
	waitsAt    = 8
	looksAt    = 16
	textBytes  = 1024 - line - doingBytes
	doingAt    = line + textBytes
	doingBytes = 128
	flagsAt    = doingAt + doingBytes
)

func rounds(size int) int { return bits.Len(uint(size - 1)) }

func boxesAt(size int) int64 { return int64(flagsAt + line*rounds(size)) }

// controlBytes is the size of a rank's block.
func controlBytes(size int) int64 { return boxesAt(size) + int64(line*size) }

// Words of a box. A rank's box for a peer has what the peer says, but ack, which is
// what the peer has heard of what this rank said.
const (
	boxSeq    = 8 * iota // messages so far
	boxWhat              // kind of the last
	boxValues            // three words
	_
	_
	boxAck
	boxClosed // 1 + the barriers that the peer entered before it closed the communicator; 0 if it has not
)

// message is what one rank tells another, as it lies in a box.
type message struct {
	what   uint64
	values [3]uint64
}

// Kinds of messages.
const (
	hello     uint64 = 1 + iota // context version, ranks, -
	newWindow                   // bytes, signals, handle
	newDomain                   // members, their hash, handle
)

// box is the offset of the box that a rank has for a peer.
func (c *Comm) box(peer int) int64 { return boxesAt(c.size) + int64(line*peer) }

// closedBy reports whether a peer has closed the communicator of so many ranks, and how
// many barriers it entered before.
func (c *control) closedBy(peer, size int) (barriers uint64, closed bool) {
	v := atomic.LoadUint64(word(c.local, boxesAt(size)+int64(line*peer)+boxClosed))
	return v - 1, v != 0
}

// say sends a message to a rank of the communicator, when that has heard the last one.
func (c *Comm) say(p place, peer int, m message) error {
	p.peer = c.ranks[peer]
	mine, theirs := c.box(peer), c.box(c.rank)
	if err := c.await(word(c.ctrl.local, mine+boxAck), tl.GE, int64(c.said[peer]), p); err != nil {
		return err
	}
	c.said[peer]++
	err := c.ctrl.Put(peer, theirs+boxWhat, bytesOf(&m))
	if err == nil {
		err = c.ctrl.Store(peer, theirs+boxSeq, c.said[peer])
	}
	return c.sent(p, err)
}

// hear waits for the next message of a rank, which should be of a kind.
func (c *Comm) hear(p place, peer int, what uint64) (m message, err error) {
	p.peer = c.ranks[peer]
	mine := c.box(peer)
	c.heard[peer]++
	if err := c.await(word(c.ctrl.local, mine+boxSeq), tl.GE, int64(c.heard[peer]), p); err != nil {
		return m, err
	}
	copy(bytesOf(&m), c.ctrl.local[mine+boxWhat:])
	if err := c.sent(p, c.ctrl.Store(peer, c.box(c.rank)+boxAck, c.heard[peer])); err != nil {
		return m, err
	}
	if m.what != what {
		names := [...]string{hello: "joins the run", newWindow: "makes a window", newDomain: "makes a domain"}
		theirs := "does something else"
		if m.what < uint64(len(names)) {
			theirs = names[m.what]
		}
		return m, c.fail(p, fmt.Errorf("%w: rank %d %s, rank %d %s", ErrMismatch, c.world.rank, names[what], p.peer, theirs))
	}
	return m, nil
}

// reserve has the first of some members reserve a segment and tell the others its handle.
// The first two values of m must be the same at all members; differ is the error of a
// member whose values are not those of the first.
func (c *Comm) reserve(p place, members []int, m message, bytes int64, differ func(theirs message) error) (handle uint64, err error) {
	if first := members[0]; first != c.rank {
		theirs, err := c.hear(p, first, m.what)
		if err != nil {
			return 0, err
		}
		if [2]uint64(theirs.values[:]) != [2]uint64(m.values[:]) {
			return 0, c.fail(p.with(c.ranks[first]), differ(theirs))
		}
		return theirs.values[2], nil
	}
	if m.values[2], err = c.world.link.Reserve(len(members), bytes); err != nil {
		return 0, c.fail(p, err)
	}
	for _, peer := range members[1:] {
		if err := c.say(p, peer, m); err != nil {
			return 0, err
		}
	}
	return m.values[2], nil
}

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
