package comm

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/kernbench/kernbench/tl"
)

// control is the memory in which the ranks of a communicator coordinate barriers, messages
// and failures. Each rank has one control block:
//
//	abort     a word: 1 + the rank in the world that failed first; 0 if none did
//	waits     a word: odd while the rank sleeps in a wait
//	polls     a word: how often the rank has polled without success while asleep
//	text      the error of this rank, if it failed
//	doing     what the rank waits for
//	flags     a cache line for each step of a barrier
//	boxes     a cache line for each rank: its last message to this rank
//
// The first five entries are used only in the world, not in domains. A cache line has 64
// bytes. Words that different ranks write are in different cache lines.
type control struct {
	Segment
	local []byte
}

const (
	cacheLine  = 64
	waitsAt    = 8
	pollsAt    = 16
	textBytes  = 1024 - cacheLine - doingBytes
	doingAt    = cacheLine + textBytes
	doingBytes = 128
	flagsAt    = doingAt + doingBytes
)

// barrierSteps returns the number of steps of a barrier between `size` ranks.
func barrierSteps(size int) int { return bits.Len(uint(size - 1)) }

// boxesAt returns the offset of the first box in a control block, for a communicator of
// `size` ranks.
func boxesAt(size int) int64 { return int64(flagsAt + cacheLine*barrierSteps(size)) }

// controlBytes returns the size in bytes of the control block of one rank in a communicator
// of `size` ranks.
func controlBytes(size int) int64 { return boxesAt(size) + int64(cacheLine*size) }

// Offsets of the words of a box. The peer of a box writes all its words. Only boxAck is
// about the other direction: messages from this rank to the peer.
const (
	boxSeq    = 8 * iota // number of messages from the peer
	boxKind              // kind of the last message
	boxValues            // three words of the last message
	_
	_
	boxAck    // number of this rank's messages that the peer has received
	boxClosed // 1 + the barriers that the peer entered before it closed the communicator; 0 if it has not
)

// message is a message between two ranks. Its memory layout is the same as in a box.
type message struct {
	kind   uint64
	values [3]uint64
}

// Kinds of messages, each with the meaning of its three values.
const (
	hello     uint64 = 1 + iota // context version, number of ranks, unused
	newWindow                   // bytes, signals, handle
	newDomain                   // number of members, hash of the members, handle
)

// box returns the offset of a peer's box in this rank's control block. The box holds the
// last message from the peer.
func (c *Comm) box(peer int) int64 { return boxesAt(c.size) + int64(cacheLine*peer) }

// closedBy reports whether a peer has closed the communicator, and how many barriers the
// peer entered before it closed. size is the number of ranks of the communicator.
func (c *control) closedBy(peer, size int) (barriers uint64, closed bool) {
	v := atomic.LoadUint64(word(c.local, boxesAt(size)+int64(cacheLine*peer)+boxClosed))
	return v - 1, v != 0
}

// send sends message m to a peer. First it waits until the peer has received the previous
// message from this rank. Errors name the operation p.
func (c *Comm) send(p place, peer int, m message) error {
	p.peer = c.ranks[peer]
	ownBox, peerBox := c.box(peer), c.box(c.rank)
	if err := c.await(word(c.ctrl.local, ownBox+boxAck), tl.GE, int64(c.sent[peer]), p); err != nil {
		return err
	}
	c.sent[peer]++
	err := c.ctrl.Put(peer, peerBox+boxKind, bytesOf(&m))
	if err == nil {
		err = c.ctrl.Store(peer, peerBox+boxSeq, c.sent[peer])
	}
	return c.finishWrite(p, err)
}

// receive waits for the next message from a peer, acknowledges it and returns it. It is an
// error if the message is not of the given kind.
func (c *Comm) receive(p place, peer int, kind uint64) (m message, err error) {
	p.peer = c.ranks[peer]
	ownBox := c.box(peer)
	c.received[peer]++
	if err := c.await(word(c.ctrl.local, ownBox+boxSeq), tl.GE, int64(c.received[peer]), p); err != nil {
		return m, err
	}
	copy(bytesOf(&m), c.ctrl.local[ownBox+boxKind:])
	if err := c.finishWrite(p, c.ctrl.Store(peer, c.box(c.rank)+boxAck, c.received[peer])); err != nil {
		return m, err
	}
	if m.kind != kind {
		names := [...]string{hello: "joins the run", newWindow: "makes a window", newDomain: "makes a domain"}
		theirs := "does something else"
		if m.kind < uint64(len(names)) {
			theirs = names[m.kind]
		}
		return m, c.fail(p, fmt.Errorf("%w: rank %d %s, rank %d %s", ErrMismatch, c.world.rank, names[kind], p.peer, theirs))
	}
	return m, nil
}

// reserve reserves a memory segment with the given number of bytes for each of the members,
// and returns the handle of the segment. The first member reserves the segment and sends
// the handle to the other members in message m. The first two values of m must be the same
// at all members. If a member's values differ from those of the first member, reserve fails
// with the error that mismatch returns.
func (c *Comm) reserve(p place, members []int, m message, bytes int64, mismatch func(theirs message) error) (handle uint64, err error) {
	if first := members[0]; first != c.rank {
		theirs, err := c.receive(p, first, m.kind)
		if err != nil {
			return 0, err
		}
		if [2]uint64(theirs.values[:]) != [2]uint64(m.values[:]) {
			return 0, c.fail(p.withPeer(c.ranks[first]), mismatch(theirs))
		}
		return theirs.values[2], nil
	}
	if m.values[2], err = c.world.link.Reserve(len(members), bytes); err != nil {
		return 0, c.fail(p, err)
	}
	for _, peer := range members[1:] {
		if err := c.send(p, peer, m); err != nil {
			return 0, err
		}
	}
	return m.values[2], nil
}

// ContextVersion is the version of the binary format of a [Context].
const ContextVersion = 1

// Context describes a window to a kernel: this rank, the number of ranks, and the address
// of each rank's part of the window.
type Context struct {
	Rank, Ranks int
	WindowBytes int64
	Base        []uint64 // address of each rank's part in this process; 0 if it cannot be addressed
}

// contextHeader is the header of the binary format of a context. The bases follow from byte
// 32 on, 8 bytes each. All numbers are little-endian.
type contextHeader struct {
	Magic       [4]byte // byte 0: contextMagic
	Version     uint32  // byte 4
	Size        uint32  // byte 8: bytes of header and bases
	Rank, Ranks uint32  // bytes 12 and 16
	_           uint32  // byte 20
	WindowBytes int64   // byte 24
}

const contextHeaderBytes = 32

var contextMagic = [4]byte([]byte("KBCX"))

// Context returns the context that describes the window to a kernel on this rank.
func (w *Window) Context() Context {
	c := Context{Rank: w.comm.rank, Ranks: w.comm.size, WindowBytes: w.bytes, Base: make([]uint64, w.comm.size)}
	for r := range c.Base {
		if b := w.Peer(r); len(b) > 0 {
			c.Base[r] = uint64(uintptr(unsafe.Pointer(&b[0])))
		}
	}
	return c
}

// MarshalBinary encodes the context in its binary format, for kernels that are not written
// in Go.
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

// UnmarshalBinary decodes a context from its binary format. It returns an error and leaves
// c unchanged if b is not a context, has an invalid size or rank, or is a context of
// another version.
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
