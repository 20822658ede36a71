package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Mistake is a violation of a rule of the format.
type Mistake struct {
	Line  int
	Track string // "" if the mistake concerns no track
	What  string
}

func (m *Mistake) Error() string {
	if m.Track == "" {
		return fmt.Sprintf("line %d: %s", m.Line, m.What)
	}
	return fmt.Sprintf("line %d: %s: %s", m.Line, m.Track, m.What)
}

// maxMistakes is the number of mistakes that an error lists.
const maxMistakes = 10

// err joins the first mistakes of the trace in the order of lines. It returns nil if there
// are no mistakes.
func (rd *reader) err() error {
	slices.SortStableFunc(rd.mistakes, func(a, b *Mistake) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for i, m := range rd.mistakes {
		if i == maxMistakes {
			all = append(all, errors.New("and more: the rest is not shown"))
			break
		}
		all = append(all, m)
	}
	return errors.Join(all...)
}

// fail records a mistake on a track.
func (rd *reader) fail(line int, track int32, format string, args ...any) {
	rd.mistakes = append(rd.mistakes, &Mistake{line, rd.t.trackText(track), fmt.Sprintf(format, args...)})
}

// trackText returns the names of a track and its process. It uses a number in place of a
// name that the trace does not give.
func (t *Trace) trackText(track int32) string {
	k := &t.tracks[track]
	p := &t.processes[k.process]
	process, thread := p.name, k.name
	if !p.named {
		process = fmt.Sprintf("process %d", p.pid)
	}
	if !k.named {
		thread = fmt.Sprintf("thread %d", k.tid)
	}
	return process + " " + thread
}

const noName = "no name: a trace names all its processes and threads"

// finish checks the rules that concern the whole trace, and sorts activities and launches.
func (rd *reader) finish() {
	t := rd.t
	if t.From > t.To {
		t.From = 0 // the trace has no slices
	}
	for _, p := range t.processes {
		if !p.named {
			rd.mistakes = append(rd.mistakes, &Mistake{p.line, fmt.Sprintf("process %d", p.pid), noName})
		}
	}
	for i := range t.tracks {
		k, state := &t.tracks[i], &rd.states[i]
		for _, open := range state.open {
			s := &t.slices[open]
			rd.fail(int(s.line), int32(i), "%s begins at %v and does not end", t.names[s.name], s.start)
		}
		if state.used > 0 && !k.named {
			rd.fail(state.used, int32(i), noName)
		}
	}
	for key, f := range rd.flows {
		if !f.begun || !f.ended {
			rd.mistakes = append(rd.mistakes, &Mistake{Line: f.line, What: fmt.Sprintf("arrow %d has one end only", key.id)})
		}
	}
	rd.checkCauses()
	rd.checkDurations()
}

// checkCauses sorts activities by number. It checks that the numbers are unique. It also
// checks that an activity has a higher number than the activity that released it, and does
// not start earlier.
func (rd *reader) checkCauses() {
	t := rd.t
	for i := range t.slices {
		if t.slices[i].id != 0 {
			t.activities = append(t.activities, int32(i))
		}
	}
	slices.SortFunc(t.activities, func(a, b int32) int { return cmp.Compare(t.slices[a].id, t.slices[b].id) })
	for n, i := range t.activities {
		s := &t.slices[i]
		if n > 0 && t.slices[t.activities[n-1]].id == s.id {
			rd.fail(int(s.line), s.track, "activity %d is there twice", s.id)
		}
		if s.after == 0 {
			continue
		}
		switch before, ok := t.activity(s.after); {
		case !ok:
			rd.fail(int(s.line), s.track, "activity %d was released by %d, which is not in the trace", s.id, s.after)
		case s.after >= s.id:
			rd.fail(int(s.line), s.track, "activity %d was released by %d, whose number should be lower", s.id, s.after)
		case t.slices[before].start > s.start:
			rd.fail(int(s.line), s.track, "activity %d begins at %v, before %d that released it, at %v", s.id, s.start, s.after, t.slices[before].start)
		}
	}
}

// checkDurations sorts launches by number. It checks that the slices of launches and of the
// program are as long as their arguments say.
func (rd *reader) checkDurations() {
	t := rd.t
	slices.SortStableFunc(t.launches, func(a, b Launch) int { return cmp.Compare(a.Number, b.Number) })
	for _, l := range t.launches {
		if s := &t.slices[l.slice]; s.end != l.End() {
			rd.fail(int(s.line), s.track, "launch %d takes %v, and says %v", l.Number, s.end-s.start, l.Critical)
		}
	}
	if p := t.Program; p != nil {
		if s := &t.slices[p.slice]; s.end-s.start != p.Makespan {
			rd.fail(int(s.line), s.track, "the program takes %v, and says %v", s.end-s.start, p.Makespan)
		}
	}
}
