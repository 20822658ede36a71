package cpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// selection is what Select waits for.
type selection struct {
	core  *Core
	cases []tl.Case
}

// Select waits until one of the cases is so.
func (c *Core) Select(cases []tl.Case) (int, error) {
	if err := c.tick(); err != nil {
		return 0, err
	}
	for i := range cases {
		if err := c.checkCase(&cases[i]); err != nil {
			return 0, err
		}
	}
	s := &c.selects
	*s = selection{c, cases}
	began := c.now
	// A message that is there stays, and so does a credit: if the first case is one of
	// them and ready, nothing that others have yet to do changes the answer.
	if cases[0].Kind != tl.SignalCase && s.ready(0, began) <= began {
		return 0, nil
	}
	c.meet()
	for {
		next := simtime.Never
		for i := range cases {
			at := s.ready(i, began)
			if at <= c.now {
				s.polled(c.now - began)
				c.waited("select", began, s.releasedBy(i))
				return i, nil
			}
			next = min(next, at)
		}
		s.listen()
		if next == simtime.Never {
			c.proc.ParkFrom(s, began)
		} else {
			c.proc.SleepUntil(next) // unless something wakes it before
		}
		s.unlisten()
		c.caughtUp()
	}
}

func (c *Core) checkCase(x *tl.Case) error {
	if x.Kind == tl.SignalCase {
		return checkSignal(x.Signal)
	}
	_, err := c.port(x.Port)
	return err
}

// ready returns when a case is ready, as far as is known: not after the present if it is ready
// now, never if another PE has to act first. A CPU that polls sees credits only
// when it looks for them, counting from when it began to.
func (s *selection) ready(i int, began simtime.Time) simtime.Time {
	c, x := s.core, &s.cases[i]
	switch x.Kind {
	case tl.RecvCase:
		if c.ports[x.Port].in.Waiting() {
			return 0
		}
	case tl.SendCase:
		at, ok := c.ports[x.Port].out.CreditsReady(memory.Bytes(x.Bytes))
		if ok && c.poll > 0 && at > began {
			at = began + (at-began+c.poll-1)/c.poll*c.poll
		}
		if ok {
			return at
		}
	case tl.SignalCase:
		if x.Cmp.Holds(c.home.signal(x.Signal).value, x.Value) {
			return 0
		}
	}
	return simtime.Never
}

// releasedBy returns the activity that made a case ready.
func (s *selection) releasedBy(i int) sim.Mark {
	if x := &s.cases[i]; x.Kind == tl.SendCase {
		return s.core.ports[x.Port].out.CreditsReadyBy(memory.Bytes(x.Bytes))
	}
	return s.core.proc.Woken
}

// listen asks to be woken by everything that may make a case ready.
func (s *selection) listen() {
	c := s.core
	for i := range s.cases {
		x := &s.cases[i]
		switch x.Kind {
		case tl.RecvCase:
			c.ports[x.Port].in.To.Any = true
		case tl.SendCase:
			out, n := c.ports[x.Port].out, memory.Bytes(x.Bytes)
			if _, ok := out.CreditsReady(n); !ok {
				out.Listen(n)
			}
		case tl.SignalCase:
			c.home.listen(c.proc)
		}
	}
}

func (s *selection) unlisten() {
	c := s.core
	for i := range s.cases {
		if x := &s.cases[i]; x.Kind != tl.SignalCase {
			c.ports[x.Port].in.To.Any = false
			c.ports[x.Port].out.Unlisten()
		}
	}
	c.home.unlisten(c.proc)
}

// polled counts the time that a CPU which polls has waited, if for a credit as well.
func (s *selection) polled(waited simtime.Time) {
	if s.core.poll > 0 && slices.ContainsFunc(s.cases, func(x tl.Case) bool { return x.Kind == tl.SendCase }) {
		s.core.pe.Polled += waited
	}
}

// String returns all cases, with their queues.
func (s *selection) String() string { return s.text(true) }

// Kind returns the names of all cases, without their queues.
func (s *selection) Kind() string { return s.text(false) }

func (s *selection) text(queues bool) string {
	texts := make([]string, len(s.cases))
	for i, x := range s.cases {
		queue := ""
		switch x.Kind {
		case tl.RecvCase:
			texts[i], queue = "a message", fmt.Sprint(" on ", s.core.ports[x.Port].in)
		case tl.SendCase:
			texts[i], queue = fmt.Sprintf("room for %v", memory.Bytes(x.Bytes)), fmt.Sprint(" in ", s.core.ports[x.Port].out)
		case tl.SignalCase:
			texts[i] = (&awaited{x.Signal, x.Cmp, x.Value}).String()
		}
		if queues {
			texts[i] += queue
		}
	}
	return strings.Join(texts, ", or ")
}

// HeldBy returns the kernel at the other end of the first queue whose kernel has not ended. If
// all have ended, it returns one of them, unless there is a signal: which kernel could change that
// is not known.
func (s *selection) HeldBy() (ended *sim.Proc) {
	signal := false
	for i := range s.cases {
		if x := &s.cases[i]; x.Kind == tl.SignalCase {
			signal = true
		} else if p := s.core.ports[x.Port].out.To.Proc; p != nil {
			if ended = p; !p.Done() {
				return p
			}
		}
	}
	if signal {
		return nil
	}
	return ended
}
