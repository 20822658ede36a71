package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
)

// Breakdown divides a time into Compute, Memory, Comm and Idle. Every instant is in exactly
// one of them.
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

// Add returns the sum of two breakdowns.
func (b Breakdown) Add(other Breakdown) Breakdown {
	return Breakdown{
		Compute: b.Compute + other.Compute, Memory: b.Memory + other.Memory, Comm: b.Comm + other.Comm, Idle: b.Idle + other.Idle,
		OverlappedMemory: b.OverlappedMemory + other.OverlappedMemory, OverlappedComm: b.OverlappedComm + other.OverlappedComm,
	}
}

// String formats all times with their names.
func (b Breakdown) String() string {
	return fmt.Sprintf("compute %v, exposed memory %v, exposed communication %v, idle %v; under compute: memory %v, communication %v",
		b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm)
}

// Phase is a program that a rank took part in: a launch, by its name, or a collective with
// its algorithm, as "all_reduce(ring)". It begins at the end of the previous phase; the
// first begins with the profile. The breakdown is that of the PE of the rank's device that
// ended last, up to the end of the whole program. The time in which the rank waits for
// other ranks to reach a collective is Comm. Other time between two programs is Idle.
type Phase struct {
	Name       string
	Algorithm  string // the algorithm of a collective; "" for a launch
	Start, End Time
	Breakdown
}

// Profile records the phases of a rank since Rank.Profile.
type Profile struct {
	rank   *Rank
	last   Time // the end of the last phase
	phases []Phase
}

// Profile waits for everything that the rank has requested and then starts to record the
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

// updateMeasuring makes PEs record their activities while a rank has a profile.
func (c *Context) updateMeasuring() {
	c.m.Measuring = c.main.profile != nil || slices.ContainsFunc(c.ranks, func(r *Rank) bool { return r != nil && r.profile != nil })
}

// Stop waits for everything that the rank has requested and returns the phases. Their times
// add up to the time from the start of the profile to the end of the last phase.
func (p *Profile) Stop() ([]Phase, error) {
	refuse(p.rank.profile != p, "Stop", "the profile was stopped before")
	err := p.rank.Synchronize()
	p.rank.profile = nil
	p.rank.updateMeasuring()
	return p.phases, err
}

// addToProfiles adds an operation that has ended to the profiles of its ranks.
func (c *Context) addToProfiles(op *stream.Operation) {
	for _, r := range append([]*Rank{c.main}, c.ranks...) {
		if r != nil && r.profile != nil && op.In(r.s) {
			r.profile.add(op)
		}
	}
}

// add adds the phase of an operation of the rank.
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

// RankTimes is the times of a launch or a collective on each of its ranks.
type RankTimes struct {
	Name  string `json:"name" table:",setting"` // the kernel, or "all_reduce(ring)" for a collective
	Start Time   `json:"start_ns" table:"ns,result"`
	Crit  Time   `json:"crit_ns" table:"ns,lower,critical path"` // the maximum of Exec
	Ranks []int  `json:"ranks"`                                  // in the launch, or in the world for a collective; ascending
	// Exec is the time from Start to the end of each of Ranks. For a rank with several
	// PEs it is the time of its last PE.
	Exec []Time `json:"pe_exec_ns"`
}

// rankTimes returns the times of a run that has ended. members has the rank of each PE, in
// the order of the program's targets; nil if each PE is a rank.
func rankTimes(run *machine.Run, members []int) RankTimes {
	t := RankTimes{Name: run.Name, Start: run.Start, Crit: run.Critical()}
	t.Ranks, t.Exec = run.ByRank(members)
	return t
}
