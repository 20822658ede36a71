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

// selection is the list of cases that Select waits for.
type selection struct {
	core  *Core
	cases []tl.Case
}

// Select waits until a case is ready, and returns the index of the first ready case.
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
	// A message that has arrived stays, and so does a credit. So if the first case is a
	// message or a credit and is ready, later actions of other PEs cannot change the
	// answer.
	if cases[0].Kind != tl.SignalCase && s.ready(0, began) <= began {
		return 0, nil
	}
	c.syncToPoll()
	for {
		next := simtime.Never
		for i := range cases {
			at := s.ready(i, began)
			if at <= c.now {
				s.recordPolled(c.now - began)
				c.recordWait("select", began, s.releasedBy(i))
				return i, nil
			}
			next = min(next, at)
		}
		s.listen()
		if next == simtime.Never {
			c.proc.ParkFrom(s, began)
		} else {
			c.proc.SleepUntil(next) // an event may wake it earlier
		}
		s.unlisten()
		c.catchUp()
	}
}

// checkCase returns an error if a case names a signal or a port that does not exist.
func (c *Core) checkCase(x *tl.Case) error {
	if x.Kind == tl.SignalCase {
		return checkSignal(x.Signal)
	}
	_, err := c.port(x.Port)
	return err
}

// ready returns the time at which case i is ready, as far as is known now. The result is at
// most the present time if the case is ready, and simtime.Never if another PE must act
// first. A CPU that polls sees a credit only at the next poll; its first poll is at the
// time `began`.
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

// releasedBy returns the activity that made case i ready.
func (s *selection) releasedBy(i int) sim.Mark {
	if x := &s.cases[i]; x.Kind == tl.SendCase {
		return s.core.ports[x.Port].out.CreditsReadyBy(memory.Bytes(x.Bytes))
	}
	return s.core.proc.Woken
}

// listen makes the kernel wake up at every event that may make a case ready, until unlisten
// is called.
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

// recordPolled adds the time `waited` to the time that the PE has spent polling, if the CPU
// polls and one of the cases waits for a credit.
func (s *selection) recordPolled(waited simtime.Time) {
	if s.core.poll > 0 && slices.ContainsFunc(s.cases, func(x tl.Case) bool { return x.Kind == tl.SendCase }) {
		s.core.pe.Polled += waited
	}
}

// String describes all cases of a Select with their queues, for reports of deadlocks.
func (s *selection) String() string { return s.text(true) }

// Kind describes all cases of a Select without their queues.
func (s *selection) Kind() string { return s.text(false) }

// text describes all cases. It includes their queues if `queues` is true.
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

// HeldBy returns the process of a kernel that could make a case ready. A case that names a
// port waits for the kernel of the port's peer. HeldBy returns the process of the first of
// these kernels, in the order of the cases, that has not ended. If all of them have ended,
// it returns the process of the last one, or nil if another case waits for a signal,
// because any PE could change the signal.
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
