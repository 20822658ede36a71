package tl

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/internal/oplog"
)

// Send puts a tile, or a ref's memory as it is now, into the queue of a port. It
// goes on at once while the peer has room, and waits otherwise.
func (t *PE) Send(port Port, x Tile) {
	err := t.owned(&x)
	if err == nil && port <= AnyPort {
		err = errPort
	}
	if err == nil {
		err = t.m.Send(port, x.v)
	}
	if err != nil {
		panic(t.fail("Send", portText(port, x.v), err))
	}
}

// Recv waits for the next message of a port and takes it. It must have as many
// bytes as the tile. AnyPort takes from whichever port has one, in turn.
func (t *PE) Recv(port Port, s Shape, dtype DType) Tile {
	t.v = Value{Shape: t.extents("Recv", s, dtype), DType: dtype}
	err := errPort
	if port >= AnyPort {
		_, _, err = t.m.Recv(port, &t.v, nil, true)
	}
	if err != nil {
		panic(t.fail("Recv", portText(port, t.v), err))
	}
	return Tile{t, t.v}
}

// RecvAny is Recv from AnyPort, and says which it was.
func (t *PE) RecvAny(s Shape, dtype DType) (Tile, Port) {
	r := t.post("RecvAny", AnyPort, t.extents("RecvAny", s, dtype), dtype, nil, true)
	return r.tile, r.port
}

// RecvInto waits for the next message of a port and moves it straight to memory.
func (t *PE) RecvInto(port Port, p Ptr, s Shape, dtype DType) {
	t.into = Block{}
	t.block(&t.into, "RecvInto", &p, t.extents("RecvInto", s, dtype), dtype, nil)
	t.post("RecvInto", port, t.into.Shape, dtype, &t.into, true)
}

// RecvAsync takes the next message of a port when it comes, while the kernel goes
// on until [Receive.Wait]. Every receive must be waited for.
func (t *PE) RecvAsync(port Port, s Shape, dtype DType) Receive {
	e := t.extents("RecvAsync", s, dtype)
	if port == AnyPort {
		panic(t.fail("RecvAsync", portText(port, Value{Shape: e, DType: dtype}),
			errors.New("which port it is shows when a message is there: use RecvAny")))
	}
	return t.post("RecvAsync", port, e, dtype, nil, false)
}

// Receive is a message on its way.
type Receive struct {
	tile   Tile
	port   Port
	handle Handle
}

// Wait waits for the message and is its tile. Waiting again gives the same tile.
func (r Receive) Wait() Tile {
	if r.tile.pe == nil {
		panic(misuse("Wait", "", errors.New("a zero Receive waits for nothing: they come from RecvAsync")))
	}
	t := r.tile.pe
	if err := t.wait(r.handle); err != nil {
		panic(t.fail("Wait", portText(r.port, r.tile.v), err))
	}
	return r.tile
}

// post asks the machine for the next message of a port.
func (t *PE) post(op string, port Port, s oplog.Shape, d DType, into *Block, wait bool) Receive {
	t.v = Value{Shape: s, DType: d}
	err := errPort
	var r Receive
	if port >= AnyPort {
		r.handle, r.port, err = t.m.Recv(port, &t.v, into, wait)
	}
	if err != nil {
		panic(t.fail(op, portText(port, t.v), err))
	}
	r.tile = Tile{t, t.v}
	return r
}

func portText(p Port, v Value) string { return p.String() + ", " + v.String() }

// Port names one of a PE's queues. What it is connected to is in the neighbour
// table of the launch.
type Port int16

// The named ports. Others are Child(i) and plain numbers from Numbered(0).
const (
	AnyPort Port = iota - 1 // in Recv: whichever has a message, in turn
	North
	South
	East
	West
	GlobalNorth // between devices
	GlobalSouth
	GlobalEast
	GlobalWest
	Parent
	firstChild
)

const (
	maxChildren  = 64
	firstNumber  = firstChild + maxChildren
	numberedName = "port"
)

// Child is the port to child i of a tree, from 0.
func Child(i int) Port {
	if i < 0 || i >= maxChildren {
		panic(misuse("Child", strconv.Itoa(i), fmt.Errorf("children count from 0 to %d", maxChildren-1)))
	}
	return firstChild + Port(i)
}

// Numbered is port i of those without a name, from 0.
func Numbered(i int) Port {
	if i < 0 || i > math.MaxInt16-int(firstNumber) {
		panic(misuse("Numbered", strconv.Itoa(i), fmt.Errorf("ports count from 0 to %d", math.MaxInt16-int(firstNumber))))
	}
	return firstNumber + Port(i)
}

var portNames = [...]string{
	"north", "south", "east", "west",
	"global_north", "global_south", "global_east", "global_west", "parent",
}

// String is the name of the port: "east", "child2", "port7".
func (p Port) String() string {
	switch {
	case p < AnyPort:
		return fmt.Sprintf("Port(%d)", int(p))
	case p == AnyPort:
		return "any"
	case p < firstChild:
		return portNames[p]
	case p < firstNumber:
		return fmt.Sprintf("child%d", p-firstChild)
	}
	return fmt.Sprintf("%s%d", numberedName, p-firstNumber)
}
