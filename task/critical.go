package task

// Critical is what the makespan went into: from the end that was noticed last, back by way
// of what released each task to the submission of the first. The times add up to the
// makespan.
type Critical struct {
	Tasks       int  `json:"tasks"`          // on the way
	Build       Time `json:"build_ns"`       // building, until the first of them was submitted
	Stall       Time `json:"stall_ns"`       // until then, when nobody built: storage was full, or the control core scheduled
	Wait        Time `json:"wait_ns"`        // for control cores and compute cores, while ready
	Schedule    Time `json:"schedule_ns"`    // from dispatch to the kernel, and from its end to when that was noticed
	Compute     Time `json:"compute_ns"`     // in kernels that have to do with their own rank alone
	Communicate Time `json:"communicate_ns"` // in those that reach or wait for others
}

// critical follows the tasks that the makespan is made of.
func (r *Result) critical() (c Critical) {
	type key struct {
		rank int
		id   ID
	}
	last := make(map[key]*Span, len(r.Spans)) // the member of each task that was noticed last
	var at *Span
	for i := range r.Spans {
		s := &r.Spans[i]
		if k := (key{s.Rank, s.Task}); last[k] == nil || s.Noticed > last[k].Noticed {
			last[k] = s
		}
		if at == nil || s.Noticed > at.Noticed {
			at = s
		}
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
		if at.Released < 0 {
			c.Build = r.built(at.Rank, at.Ready)
			c.Stall = at.Ready - c.Build
			break
		}
		at = last[key{at.Rank, at.Released}]
	}
	return c
}

// built is how long a rank has built until some time.
func (r *Result) built(rank int, until Time) (took Time) {
	for i := range r.Control {
		if w := &r.Control[i]; w.Rank == rank && w.Kind == Building && w.From < until {
			took += min(w.To, until) - w.From
		}
	}
	return took
}
