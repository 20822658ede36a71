package tl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Case is something that a kernel can wait for in [PE.Select]. The fields are for
// machines; kernels make cases with [CanRecv], [CanSend] and [CanSignal].
type Case struct {
	Kind   CaseKind
	Cmp    Cmp   // of SignalCase
	Port   Port  // of RecvCase and SendCase
	Signal int   // of SignalCase
	Value  int64 // of SignalCase
	Bytes  int64 // of SendCase: the size of the message
}

// CaseKind is what a case waits for. The zero CaseKind is nothing.
type CaseKind uint8

// The kinds of cases.
const (
	RecvCase CaseKind = iota + 1
	SendCase
	SignalCase
)

// CanRecv is that a message is there on a port which nobody has asked for. As for
// RecvAny, its first fragment suffices: a Recv of more than a slot may wait for the
// rest, and must begin before that is there if the queue is too short for all of it.
func CanRecv(port Port) Case { return Case{Kind: RecvCase, Port: port} }

// CanSend is that a port has room for a message of so many elements, or is empty if
// the message is larger than the queue: a Send of that still waits on the way.
func CanSend(port Port, s Shape, dtype DType) Case {
	v := Value{Shape: (*PE)(nil).extents("CanSend", s, dtype), DType: dtype}
	return Case{Kind: SendCase, Port: port, Bytes: v.Bytes()}
}

// CanSignal is that a signal of this PE compares true with v.
func CanSignal(signal int, cmp Cmp, v int) Case {
	return Case{Kind: SignalCase, Signal: signal, Cmp: cmp, Value: int64(v)}
}

// Select waits until one of the cases is so, and is its index: the first in the list
// if there are several. It only tells; the Recv, Send or WaitSignal that follows does
// it. In particular it is WaitSignal or Test, and not Select, that orders this PE
// behind what was put before the signal.
//
// A fixed order is what kernels reason about: a stage that drains the machine goes
// before one that fills it. A kernel that wants turns rotates its list.
func (t *PE) Select(cases ...Case) int {
	err := checkCases(cases)
	i := 0
	if err == nil {
		t.cases = append(t.cases[:0], cases...) // those of the kernel stay on its stack
		i, err = t.m.Select(t.cases)
	}
	if err != nil {
		panic(t.fail("Select", casesText(cases), err))
	}
	return i
}

func checkCases(cases []Case) error {
	if len(cases) == 0 {
		return errors.New("no cases: it would wait for ever")
	}
	for i := range cases {
		c := &cases[i]
		switch c.Kind {
		case RecvCase, SendCase:
			if c.Port <= AnyPort {
				return errPort
			}
		case SignalCase:
			if err := c.Cmp.check(); err != nil {
				return err
			}
		default:
			return errors.New("a zero Case waits for nothing: they come from CanRecv, CanSend and CanSignal")
		}
	}
	return nil
}

// String is the case as kernels write it, a message by its bytes.
func (c Case) String() string {
	switch c.Kind {
	case RecvCase:
		return fmt.Sprintf("CanRecv(%v)", c.Port)
	case SendCase:
		return fmt.Sprintf("CanSend(%v, %d bytes)", c.Port, c.Bytes)
	case SignalCase:
		return fmt.Sprintf("CanSignal(%d, %v, %d)", c.Signal, c.Cmp, c.Value)
	}
	return "zero Case"
}

func casesText(cases []Case) string {
	texts := lists.Map(cases, Case.String)
	return strings.Join(texts, ", ")
}
