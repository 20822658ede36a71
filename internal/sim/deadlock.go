package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Deadlock is the end of a run in which processes wait and no event is left that
// could wake them.
type Deadlock struct {
	At      Time      // when the last of them began to wait, or of the last event if that is later
	Blocked []Blocked // without idle ones, in the order of their ids, which processes that ended leave to later ones
	Cycle   []string  // processes each waiting for the next, and the last for the first
}

// Blocked is a process that waits in vain.
type Blocked struct {
	Proc  string
	On    string
	Kind  string // of wait, for reports that show some of many: On without names of others
	At    string // the line of its code, if the process knows
	Since Time
	Ended string // the process that would have to end the wait, if it has ended itself
}

// A report has the first waits of a kind and line, and counts the others: a deadlock of a
// large machine has thousands of victims and a handful of culprits.
const (
	shownAlike = 6
	shownKinds = 4
	shownCycle = 8
)

func (d *Deadlock) Error() string {
	var b strings.Builder
	verb := "processes wait and nothing can wake them"
	if len(d.Blocked) == 1 {
		verb = "process waits and nothing can wake it"
	}
	fmt.Fprintf(&b, "deadlock at %v: %d %s", d.At, len(d.Blocked), verb)
	type wait struct{ kind, at string }
	var kinds []wait
	alike := map[wait]int{}
	for _, w := range d.Blocked {
		k := wait{w.Kind, w.At}
		if alike[k]++; alike[k] == 1 {
			kinds = append(kinds, k)
		}
		if alike[k] > shownAlike || slices.Index(kinds, k) >= shownKinds {
			continue
		}
		fmt.Fprintf(&b, "\n  %s waits for %s since %v", w.Proc, w.On, w.Since)
		if w.At != "" {
			fmt.Fprintf(&b, ", at %s", w.At)
		}
		if w.Ended != "" {
			fmt.Fprintf(&b, ": %s has ended", w.Ended)
		}
	}
	others := 0
	for i, k := range kinds {
		switch {
		case i >= shownKinds:
			others += alike[k]
		case alike[k] > shownAlike:
			fmt.Fprintf(&b, "\n  ... and %d more for %s", alike[k]-shownAlike, k.kind)
			if k.at != "" {
				fmt.Fprintf(&b, ", at %s", k.at)
			}
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "\n  ... and %d more in %d other waits", others, len(kinds)-shownKinds)
	}
	if n := len(d.Cycle); n > shownCycle {
		fmt.Fprintf(&b, "\n  cycle of %d: %s -> ...", n, strings.Join(d.Cycle[:shownCycle], " -> "))
	} else if n > 0 {
		fmt.Fprintf(&b, "\n  cycle: %s -> %s", strings.Join(d.Cycle, " -> "), d.Cycle[0])
	}
	return b.String()
}

// deadlock describes the processes that wait, nil if none does, and ends them.
func (ps *procs) deadlock(at Time) *Deadlock {
	blocked, cycle := ps.unwind()
	if len(blocked) == 0 {
		return nil
	}
	d := &Deadlock{at, blocked, cycle}
	for _, w := range blocked {
		d.At = max(d.At, w.Since) // the clock of a process may be ahead
	}
	return d
}

// unwind ends all processes and returns where they stood, and a cycle of waits if there
// is one. Idle ones are left out, unless all are idle.
func (ps *procs) unwind() (list []Blocked, cycle []string) {
	var all, busy []*Proc
	for _, slot := range ps.slots {
		if p := slot.Proc; p != nil {
			all = append(all, p)
			if idler, ok := p.on.(Idler); !ok || !idler.Idle() {
				busy = append(busy, p)
			}
		}
	}
	if len(busy) == 0 {
		busy = all
	}
	for _, p := range busy {
		w := Blocked{Proc: p.Name(), Since: p.since}
		if p.on != nil {
			w.On = p.on.String()
			w.Kind = w.On
		}
		if k, ok := p.on.(interface{ Kind() string }); ok {
			w.Kind = k.Kind()
		}
		if held, ok := p.on.(Held); ok {
			if peer := held.HeldBy(); peer != nil && peer.Done() {
				w.Ended = peer.Name()
			}
		}
		list = append(list, w)
		if cycle == nil {
			cycle = p.waitCycle()
		}
	}
	for _, p := range all {
		p.Cancel() // in which it looks where it stands
	}
	for i, p := range busy {
		list[i].At = p.at
	}
	return list, cycle
}

// Idler is what a process can wait for that has nothing to do: somebody else is to
// blame if the run ends in a deadlock.
type Idler interface {
	Idle() bool
}

// Held is what a process can wait for that another process has to bring about.
type Held interface {
	// HeldBy is that process, which may have ended; nil if none is known.
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
