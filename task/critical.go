package task

import (
	"cmp"
	"slices"
)

// Critical is what the makespan went into: from the end that was noticed last, back by way
// of what released each task to the submission of the first. Where the orchestration had
// waited for a value of a task, it goes on from a submission to that task. The times add up
// to the makespan.
type Critical struct {
	Tasks       int  `json:"tasks"`          // on the way
	Build       Time `json:"build_ns"`       // building and reading values, until tasks were submitted
	Stall       Time `json:"stall_ns"`       // until then, when nobody built: storage was full, or the control core scheduled
	Wait        Time `json:"wait_ns"`        // for control cores and compute cores, while ready
	Schedule    Time `json:"schedule_ns"`    // from dispatch to the kernel, and from its end to when that was noticed
	Compute     Time `json:"compute_ns"`     // in kernels that have to do with their own rank alone
	Communicate Time `json:"communicate_ns"` // in those that reach or wait for others, and in messages between ranks
}

// spanKey identifies a task in the results.
type spanKey struct {
	rank int
	id   ID
}

func (r *Result) key(rank int, id ID) spanKey {
	if r.single {
		rank = 0
	}
	return spanKey{rank, id}
}

// critical follows the tasks that the makespan is made of.
func (r *Result) critical() (c Critical) {
	last := make(map[spanKey]*Span, len(r.Spans)) // the member of each task that was noticed last
	builds := r.builds()
	var at *Span
	for i := range r.Spans {
		s := &r.Spans[i]
		if k := r.key(s.Rank, s.Task); last[k] == nil || s.Noticed > last[k].Noticed {
			last[k] = s
		}
		if at == nil || s.Noticed > at.Noticed {
			at = s
		}
	}
	if at != nil {
		c.between(r, builds, at.Rank, at.Noticed, r.Makespan, at.Rank) // a value that nothing was submitted after
	}
	for at != nil {
		c.Tasks++
		if at.Peers {
			c.Communicate += at.End - at.Begin
		} else {
			c.Compute += at.End - at.Begin
		}
		c.Schedule += at.Begin - at.Dispatched + at.Noticed - at.End
		c.Wait += at.Dispatched - at.Ready
		if at.Released >= 0 {
			from := last[r.key(at.Rank, at.Released)]
			c.Communicate += at.Ready - from.Noticed // 0 at one rank
			at = from
			continue
		}
		var from *Span
		since, rank := Time(0), at.Rank
		if at.Value != nil {
			from = last[r.key(at.Rank, *at.Value)]
			since, rank = from.Noticed, from.Rank
		}
		c.between(r, builds, at.Rank, since, at.Ready, rank)
		at = from
	}
	return c
}

// between adds what a rank did until a task was submitted, since the start or since the end
// of a task whose value decided. If that was of another rank, what is no building was a
// message.
func (c *Critical) between(r *Result, builds [][]*Work, rank int, since, until Time, of int) {
	built := r.built(builds, rank, since, until)
	c.Build += built
	if rest := until - since - built; of == rank {
		c.Stall += rest
	} else {
		c.Communicate += rest
	}
}

// builds returns what each rank did for building and for values, in order.
func (r *Result) builds() [][]*Work {
	list := make([][]*Work, r.Ranks)
	for i := range r.Control {
		if w := &r.Control[i]; w.Kind == Building || w.Kind == Reading {
			list[w.Rank] = append(list[w.Rank], w)
		}
	}
	return list
}

// built returns how long a rank has built, or read values, between two times.
func (r *Result) built(builds [][]*Work, rank int, since, until Time) (took Time) {
	if r.single && r.Runtime == HostBuildGraph {
		rank = 0 // one host builds for all
	}
	list := builds[rank]
	first, _ := slices.BinarySearchFunc(list, since, func(w *Work, t Time) int { return cmp.Compare(w.To, t) })
	for _, w := range list[first:] {
		if w.From >= until {
			break
		}
		took += min(w.To, until) - max(w.From, since)
	}
	return took
}
