package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Deadlock is the error of a run in which processes wait and no event is left that could
// wake them.
type Deadlock struct {
	At      Time      // the last event or the start of the last wait, whichever is later
	Blocked []Blocked // blocked processes by id, without idle processes; ids are reused
	Cycle   []string  // processes that each wait for the next one, and the last for the first
}

// Blocked is a process that waits for something that never happens.
type Blocked struct {
	Proc  string
	On    string // what the process waits for
	Kind  string // On without the names of other processes: groups equal waits in a report
	At    string // the source line, "" if unknown
	Since Time
	Ended string // the process that should end the wait, if that process has ended; else ""
}

// A deadlock of a large machine blocks thousands of processes for few reasons. The report
// shows the first waits of each kind and line, and counts the others.
const (
	shownAlike = 6 // waits of one kind and line
	shownKinds = 4 // kinds
	shownCycle = 8 // processes of the cycle
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

// reportDeadlock ends all processes that wait and returns a report of their waits. It
// returns nil if no process waits. `at` is the time of the deadlock.
func (ps *procs) reportDeadlock(at Time) *Deadlock {
	blocked, cycle := ps.unwind()
	if len(blocked) == 0 {
		return nil
	}
	d := &Deadlock{at, blocked, cycle}
	for _, w := range blocked {
		d.At = max(d.At, w.Since) // the clock of a process may be ahead of the engine's
	}
	return d
}

// unwind ends all processes. `list` says what each process waited for. It leaves out idle
// processes, unless all processes are idle. `cycle` has the names of processes that wait
// for each other in a cycle, or is nil.
func (ps *procs) unwind() (list []Blocked, cycle []string) {
	all := ps.inOrder()
	var busy []*Proc
	for _, p := range all {
		if idler, ok := p.on.(Idler); !ok || !idler.Idle() {
			busy = append(busy, p)
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
		p.Cancel() // sets p.at
	}
	for i, p := range busy {
		list[i].At = p.at
	}
	return list, cycle
}

// Idler is a condition that a process without work waits for. Such a process does not cause
// a deadlock, so reports leave it out.
type Idler interface {
	Idle() bool
}

// Held is a condition that another process must fulfil.
type Held interface {
	// HeldBy returns the process that must fulfil the condition, or nil if it is unknown.
	// The process may have ended.
	HeldBy() *Proc
}

// waitCycle follows the chain of waits from p: from each process to the process that must
// end its wait. If the chain leads back to p, it returns the names of the processes on the
// chain, else nil.
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
			return nil // a cycle without p; it is found from one of its members
		}
	}
}
