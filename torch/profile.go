package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
)

// Breakdown is where some time went: every instant is in one of Compute, Memory, Comm
// and Idle.
type Breakdown struct {
	Compute Time // an engine was at work, from the fetch of operands to the store of results
	Memory  Time // none was: data moved between memories and TCM
	Comm    Time // none was: messages moved, or the CPU waited for another PE
	Idle    Time // none of these

	OverlappedMemory Time // data moved under Compute
	OverlappedComm   Time // messages moved, or the CPU waited, under Compute
}

// Total returns the whole time.
func (b Breakdown) Total() Time { return b.Compute + b.Memory + b.Comm + b.Idle }

// Add returns the sum of breakdowns of times one after another.
func (b Breakdown) Add(other Breakdown) Breakdown {
	return Breakdown{
		Compute: b.Compute + other.Compute, Memory: b.Memory + other.Memory, Comm: b.Comm + other.Comm, Idle: b.Idle + other.Idle,
		OverlappedMemory: b.OverlappedMemory + other.OverlappedMemory, OverlappedComm: b.OverlappedComm + other.OverlappedComm,
	}
}

// String returns all of it in words.
func (b Breakdown) String() string {
	return fmt.Sprintf("compute %v, exposed memory %v, exposed communication %v, idle %v; under compute: memory %v, communication %v",
		b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm)
}

// Phase is a program that a rank took part in: a launch, by its name, or a collective and
// its algorithm, as "all_reduce(ring)". It begins with the end of the one before it, the
// first with the profile. Of the PEs of the rank's device the one that ended last is
// looked at, until all of the program has ended. Waiting for other ranks to come to a
// collective is Comm, the rest of the way from one program to the next Idle.
type Phase struct {
	Name       string
	Algorithm  string // of a collective; "" of a launch
	Start, End Time
	Breakdown
}

// Profile is the phases of a rank since Rank.Profile.
type Profile struct {
	rank   *Rank
	last   Time
	phases []Phase
}

// Profile begins to note what the rank's programs do, once all that it asked for
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
	c.m.Measuring = c.main.profile != nil || slices.ContainsFunc(c.ranks, func(r *Rank) bool { return r != nil && r.profile != nil })
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
func (c *Context) profiled(op *stream.Operation) {
	for _, r := range append([]*Rank{c.main}, c.ranks...) {
		if r != nil && r.profile != nil && op.In(r.s) {
			r.profile.add(op)
		}
	}
}

// add adds an operation of the rank.
func (p *Profile) add(op *stream.Operation) {
	r := p.rank
	start, end := max(op.Run.Start, p.last), op.Run.Start+op.Run.Critical() // an asynchronous one may overlap those before it
	b, ok := op.Run.Breakdown(func(pe machine.PEID) bool {
		return !r.s.Spawned() || r.m.PE(pe).SIP == r.device
	}, start)
	if !ok || end < p.last {
		return
	}
	waited := min(op.Whole().Waited(r.s, p.last), start-p.last)
	b.Comm += waited
	b.Idle += start - p.last - waited
	p.phases = append(p.phases, Phase{Name: op.Run.Name, Algorithm: op.Algorithm, Start: p.last, End: end, Breakdown: Breakdown(b)})
	p.last = end
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
	t.Ranks, t.Exec = run.ByRank(members)
	return t
}
