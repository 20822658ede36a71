package torch

import (
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
)

// Breakdown is where some time went: every instant is in one of Compute, Memory, Comm
// and Idle, and OverlappedMemory and OverlappedComm say how much of Compute had memory or
// communication going on beside it.
type Breakdown = machine.Breakdown

// Phase is a program that a rank took part in: a launch, by its name, or a collective and
// its algorithm, as "all_reduce(ring)". It begins with the end of the one before it, the
// first with the profile. Of the PEs of the rank's device the one that ended last is
// looked at, until all of the program has ended. Waiting for other ranks to come to a
// collective is Comm, the rest of the way from one program to the next Idle.
type Phase struct {
	Name       string
	Start, End Time
	Breakdown
}

// Profile is the phases of a rank since Rank.Profile.
type Profile struct {
	rank   *Rank
	last   Time
	phases []Phase
}

// Profile begins to note what the calling rank's programs do, once all that it asked for
// before has ended. Copies between host and device count as Idle. A rank keeps one
// profile at a time.
func (r *Rank) Profile() (*Profile, error) {
	if err := r.Synchronize(); err != nil {
		return nil, err
	}
	refuse(r.profile != nil, "Profile", "this rank keeps a profile already: Stop it first")
	r.profile = &Profile{rank: r, last: r.Now()}
	r.measure()
	return r.profile, nil
}

// measure has PEs note what they do while somebody wants to know.
func (c *Context) measure() {
	c.m.Measure(c.driver.profile != nil || slices.ContainsFunc(c.workers, func(w *Rank) bool { return w.profile != nil }))
}

// Stop waits for what the rank has asked for and is the phases, whose times add up to
// that from the beginning of the profile to the end of the last of them.
func (p *Profile) Stop() ([]Phase, error) {
	refuse(p.rank.profile != p, "Stop", "the profile was stopped before")
	err := p.rank.Synchronize()
	p.rank.profile = nil
	p.rank.measure()
	return p.phases, err
}

// profiled adds an operation that has ended to the profiles of its ranks.
func (c *Context) profiled(op *operation) {
	c.driver.profiled(op)
	for _, w := range c.workers {
		w.profiled(op)
	}
}

func (w *Rank) profiled(op *operation) {
	p := w.profile
	if p == nil || !slices.Contains(op.streams, &w.stream) {
		return
	}
	start, end := max(op.run.Start, p.last), op.run.Start+op.run.Critical() // an asynchronous one may overlap those before it
	b, ok := op.run.Breakdown(func(pe machine.PEID) bool {
		return w.proc == nil || w.m.PE(pe).SIP == w.device
	}, start)
	if !ok || end < p.last {
		return
	}
	waited := min(op.whole().waited(&w.stream, p.last), start-p.last)
	b.Comm += waited
	b.Idle += start - p.last - waited
	p.phases = append(p.phases, Phase{Name: op.run.Name, Start: p.last, End: end, Breakdown: b})
	p.last = end
}

// waited returns how long a rank that had come to a collective, and had ended what was before,
// waited for the last of the others to come.
func (op *operation) waited(s *stream, since Time) Time {
	own, ok := op.entered[s]
	if !ok {
		return 0
	}
	last := slices.Max(slices.Collect(maps.Values(op.entered)))
	return max(0, last-max(own, since))
}

// RankTimes is how long a launch or a collective ran on each of its ranks.
type RankTimes struct {
	Name  string `json:"name" table:",setting"` // of the kernel: "all_reduce(ring)" of a collective
	Start Time   `json:"start_ns" table:"ns,result"`
	Crit  Time   `json:"crit_ns" table:"ns,lower,critical path"` // the longest of Exec
	Ranks []int  `json:"ranks"`                                  // in the launch, or of a collective in the world; ascending
	// Exec is the time from Start to the end of each of Ranks. For a rank with several
	// PEs it is the time of the last one.
	Exec []Time `json:"pe_exec_ns"`
}

// rankTimes returns the times of a run that has ended. members is the rank of each PE, in
// the order of the program's targets; nil if each PE is a rank.
func rankTimes(run *machine.Run, members []int) RankTimes {
	t := RankTimes{Name: run.Name, Start: run.Start, Crit: run.Critical()}
	longest := map[int]Time{}
	for i, pe := range run.Program.Targets {
		rank := i
		if members != nil {
			rank = members[i]
		}
		longest[rank] = max(longest[rank], run.ExecOf(pe))
	}
	t.Ranks = slices.Sorted(maps.Keys(longest))
	for _, rank := range t.Ranks {
		t.Exec = append(t.Exec, longest[rank])
	}
	return t
}
