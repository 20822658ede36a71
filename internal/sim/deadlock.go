package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Deadlock is the end of a run in which processes wait and no event is left that
// could wake them.
type Deadlock struct {
	At      Time
	Blocked []Blocked // without idle ones, in the order of their ids, which processes that ended leave to later ones
	Cycle   []string  // processes each waiting for the next, and the last for the first
}

// Blocked is a process that waits in vain.
type Blocked struct {
	Proc  string
	On    string
	At    string // the line of its code, if the process knows
	Since Time
}

// shownBlocked bounds the report's text: a deadlock of a large machine has
// thousands of victims and a handful of culprits.
const shownBlocked = 20

func (d *Deadlock) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock at %v: %d processes wait and nothing can wake them", d.At, len(d.Blocked))
	for i, w := range d.Blocked {
		if i == shownBlocked {
			fmt.Fprintf(&b, "\n  ... and %d more", len(d.Blocked)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s waits for %s since %v", w.Proc, w.On, w.Since)
		if w.At != "" {
			fmt.Fprintf(&b, ", at %s", w.At)
		}
	}
	if len(d.Cycle) > 0 {
		fmt.Fprintf(&b, "\n  cycle: %s -> %s", strings.Join(d.Cycle, " -> "), d.Cycle[0])
	}
	return b.String()
}

// deadlock describes the processes that wait, nil if none does, and ends them. Idle
// ones are left out, unless all are idle.
func (ps *procs) deadlock(at Time) *Deadlock {
	var all, busy []*Proc
	for _, slot := range ps.slots {
		if p := slot.Proc; p != nil {
			all = append(all, p)
			if !p.isIdle() {
				busy = append(busy, p)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(busy) == 0 {
		busy = all
	}
	d := &Deadlock{At: at}
	for _, p := range busy {
		d.Blocked = append(d.Blocked, Blocked{Proc: p.Name(), On: p.on.String(), Since: p.since})
		if d.Cycle == nil {
			d.Cycle = p.waitCycle()
		}
	}
	for _, p := range all {
		p.Cancel() // in which it looks where it stands
	}
	for i, p := range busy {
		d.Blocked[i].At = p.at
	}
	return d
}

// Idler is what a process can wait for that has nothing to do: somebody else is to
// blame if the run ends in a deadlock.
type Idler interface {
	Idle() bool
}

func (p *Proc) isIdle() bool {
	idler, ok := p.on.(Idler)
	return ok && idler.Idle()
}

// Held is what a process can wait for that another process has to bring about.
type Held interface {
	// HeldBy is that process, nil if none is known.
	HeldBy() *Proc
}

// waitCycle follows p to the holder of what it waits for, and so on, and returns
// the processes on the way if that leads back to p.
func (p *Proc) waitCycle() []string {
	var names []string
	var seen []*Proc
	for q := p; ; {
		seen = append(seen, q)
		names = append(names, q.Name())
		held, ok := q.on.(Held)
		if !ok || held.HeldBy() == nil {
			return nil
		}
		q = held.HeldBy()
		if q == p {
			return names
		}
		if slices.Contains(seen, q) {
			return nil // a cycle further on, found from one of its own members
		}
	}
}
