package tl

import (
	"fmt"
	"math"
	"strconv"
)

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
