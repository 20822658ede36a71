package tl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Case is a condition that a kernel can wait for in [PE.Select]. Kernels create cases with
// [CanRecv], [CanSend] and [CanSignal]; machines read the fields.
type Case struct {
	Kind   CaseKind
	Cmp    Cmp   // for SignalCase
	Port   Port  // for RecvCase and SendCase
	Signal int   // for SignalCase
	Value  int64 // for SignalCase
	Bytes  int64 // for SendCase: the size of the message
}

// CaseKind is the kind of a case. The zero CaseKind is invalid.
type CaseKind uint8

// The kinds of cases.
const (
	RecvCase CaseKind = iota + 1
	SendCase
	SignalCase
)

// CanRecv returns a case that holds when a port has a message for which no receive has
// been posted. As with RecvAny, the first fragment is enough: if the message is larger
// than a slot, the Recv may still wait for the rest. If the message is larger than the
// queue, the rest arrives only after the Recv has begun.
func CanRecv(port Port) Case { return Case{Kind: RecvCase, Port: port} }

// CanSend returns a case that holds when the queue of a port has space for a message of
// the given shape and dtype. For a message larger than the queue, it holds when the queue
// is empty; the Send then still waits until the receiver has taken the first fragments.
func CanSend(port Port, s Shape, dtype DType) Case {
	v := Value{Shape: (*PE)(nil).extents("CanSend", s, dtype), DType: dtype}
	return Case{Kind: SendCase, Port: port, Bytes: v.Bytes()}
}

// CanSignal returns a case that holds when a comparison of a signal of this PE with v is
// true: CanSignal(0, GE, 2) holds when signal 0 is at least 2.
func CanSignal(signal int, cmp Cmp, v int) Case {
	return Case{Kind: SignalCase, Signal: signal, Cmp: cmp, Value: int64(v)}
}

// Select waits until at least one of the cases holds and returns the index of the first
// case that holds. Select does not receive, send or change anything: a Recv, Send or
// WaitSignal must follow. In particular, data that was put before the signal is visible
// after WaitSignal or Test, not after Select.
//
// The order of the cases is their priority, so that a kernel can, for example, prefer a
// stage that drains data to a stage that adds data. A kernel that wants to serve the cases
// in turn rotates the list.
func (t *PE) Select(cases ...Case) int {
	err := checkCases(cases)
	i := 0
	if err == nil {
		t.cases = append(t.cases[:0], cases...) // a copy, so that cases stays on the kernel's stack
		i, err = t.m.Select(t.cases)
	}
	if err != nil {
		panic(t.fail("Select", casesText(cases), err))
	}
	return i
}

func checkCases(cases []Case) error {
	if len(cases) == 0 {
		return errors.New("no cases: it would wait forever")
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

// String formats the case as in a kernel, with the size of a message in bytes.
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
