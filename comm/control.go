package comm

import (
	"fmt"
	"math/bits"
	"sync/atomic"
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
	me    int
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
	if err := c.await(word(c.ctrl.local, mine+boxAck), GE, int64(c.said[peer]), p); err != nil {
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
	if err := c.await(word(c.ctrl.local, mine+boxSeq), GE, int64(c.heard[peer]), p); err != nil {
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
