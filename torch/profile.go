package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
)

// Breakdown divides a time into Compute, Memory, Comm and Idle. Every instant counts in
// exactly one of the four.
type Breakdown struct {
	Compute Time // an engine computed, from the fetch of operands to the store of results
	Memory  Time // no engine computed, and data moved between memories and TCM
	Comm    Time // no engine computed, and messages moved or the CPU waited for another PE
	Idle    Time // no engine computed, and nothing moved

	OverlappedMemory Time // part of Compute in which data moved
	OverlappedComm   Time // part of Compute in which messages moved or the CPU waited
}

// Total returns the sum of Compute, Memory, Comm and Idle.
func (b Breakdown) Total() Time { return b.Compute + b.Memory + b.Comm + b.Idle }

// Add returns the sum of b and other, field by field.
func (b Breakdown) Add(other Breakdown) Breakdown {
	return Breakdown{
		Compute: b.Compute + other.Compute, Memory: b.Memory + other.Memory, Comm: b.Comm + other.Comm, Idle: b.Idle + other.Idle,
		OverlappedMemory: b.OverlappedMemory + other.OverlappedMemory, OverlappedComm: b.OverlappedComm + other.OverlappedComm,
	}
}

// String returns all times of b with their names, as text.
func (b Breakdown) String() string {
	return fmt.Sprintf("compute %v, exposed memory %v, exposed communication %v, idle %v; under compute: memory %v, communication %v",
		b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm)
}

// Phase is the time of one program that a rank took part in: a launch with its name, or a
// collective with its algorithm, as "all_reduce(ring)". A phase begins at the end of the
// previous phase; the first phase begins with the profile. The breakdown is that of one PE
// of the rank's device, the one that ended last. It extends to the end of the whole
// program. Time in which the rank waits for other ranks to reach a collective counts as
// Comm. Other time between two programs counts as Idle.
type Phase struct {
	Name       string
	Algorithm  string // the algorithm of a collective; "" for a launch
	Start, End Time
	Breakdown
}

// Profile records the phases of a rank, from the call of Rank.Profile until Stop.
type Profile struct {
	rank   *Rank
	last   Time // the end of the last phase
	phases []Phase
}

// Profile waits for everything that the rank has requested. Then it starts to record the
// phases of the rank. Copies between host and device count as Idle. A rank can have one
// profile at a time.
func (r *Rank) Profile() (*Profile, error) {
	if err := r.Synchronize(); err != nil {
		return nil, err
	}
	refuse(r.profile != nil, "Profile", "this rank keeps a profile already: Stop it first")
	r.profile = &Profile{rank: r, last: r.Now()}
	r.updateMeasuring()
	return r.profile, nil
}

// updateMeasuring makes the PEs record their activities if any rank has a profile, and
// stops the recording otherwise.
func (c *Context) updateMeasuring() {
	c.m.Measuring = c.main.profile != nil || slices.ContainsFunc(c.ranks, func(r *Rank) bool { return r != nil && r.profile != nil })
}

// Stop waits for everything that the rank has requested, ends the profile and returns its
// phases. The times of the phases add up to the time from the start of the profile to the
// end of the last phase.
func (p *Profile) Stop() ([]Phase, error) {
	refuse(p.rank.profile != p, "Stop", "the profile was stopped before")
	err := p.rank.Synchronize()
	p.rank.profile = nil
	p.rank.updateMeasuring()
	return p.phases, err
}

// addToProfiles adds op, which has ended, to the profiles of all ranks that took part in
// op.
func (c *Context) addToProfiles(op *stream.Operation) {
	for _, r := range append([]*Rank{c.main}, c.ranks...) {
		if r != nil && r.profile != nil && op.In(r.s) {
			r.profile.add(op)
		}
	}
}

// add appends the phase of op, an ended operation of the rank. It adds nothing if op ended
// before the end of the last phase, or if op was not measured on a PE of the rank.
func (p *Profile) add(op *stream.Operation) {
	r := p.rank
	start, end := max(op.Run.Start, p.last), op.Run.Start+op.Run.Critical() // an asynchronous operation may overlap earlier ones
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

// RankTimes holds the times of a launch or a collective on each of its ranks.
type RankTimes struct {
	Name  string `json:"name" table:",setting"` // the name of the kernel, or "all_reduce(ring)" for a collective
	Start Time   `json:"start_ns" table:"ns,result"`
	Crit  Time   `json:"crit_ns" table:"ns,lower,critical path"` // the maximum of Exec
	Ranks []int  `json:"ranks"`                                  // numbers in the launch or, for a collective, in the world; ascending
	// Exec[i] is the time from Start to the end of rank Ranks[i]. For a rank with several
	// PEs it is the time to the end of its last PE.
	Exec []Time `json:"pe_exec_ns"`
}

// rankTimes returns the times of `run`, which must have ended. `members` lists the rank of
// each PE, in the order of the program's targets. If it is nil, each PE is a rank.
func rankTimes(run *machine.Run, members []int) RankTimes {
	t := RankTimes{Name: run.Name, Start: run.Start, Crit: run.Critical()}
	t.Ranks, t.Exec = run.ByRank(members)
	return t
}
