package task

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time.
type Time = simtime.Time

// Result is what a simulated run of a program found out. All times count from when its
// launch began on all PEs; building on the host counts from there as well.
type Result struct {
	Runtime  Runtime `json:"runtime"`
	Config   *Config `json:"-"` // what that cost, and had room for
	Ranks    int     `json:"ranks"`
	Cores    int     `json:"cores"`       // compute cores of each rank
	Tasks    int     `json:"tasks"`       // of all ranks
	Makespan Time    `json:"makespan_ns"` // to when the last end was noticed

	// What became of the time of all compute cores: together Ranks·Cores·Makespan. Idle is
	// simtime.Never if it is longer than that: 131,072 cores without work for 71 ms.
	Compute     Time `json:"pe_compute_ns"`     // in kernels that have to do with their own rank alone
	Communicate Time `json:"pe_communicate_ns"` // in those that reach or wait for others
	Schedule    Time `json:"pe_schedule_ns"`    // with a task that does not run yet, or whose end nobody knows yet
	Idle        Time `json:"pe_idle_ns"`        // without a task

	// What those did who build and schedule, of all ranks.
	Build    Time `json:"control_build_ns"`    // graphs, and reading values: the host, the control core or the orchestrator
	Dispatch Time `json:"control_dispatch_ns"` // tasks to compute cores, messages to other ranks
	Notice   Time `json:"control_notice_ns"`   // ends of tasks, messages of other ranks

	Critical Critical `json:"critical"` // what the makespan is made of

	single bool // one orchestration for all ranks: IDs are unique over all

	Spans   []Span `json:"spans,omitempty"`   // what compute cores did, in the order of beginning
	Control []Work `json:"control,omitempty"` // what was done for them, in the order of beginning
}

// Span is one member of a task on its compute core.
type Span struct {
	Rank     int    `json:"rank"`
	Core     int    `json:"core"`
	Task     ID     `json:"task"`
	Member   int    `json:"member"`
	Name     string `json:"name"`
	Released ID     `json:"released"`        // whose end made it ready; -1: its submission did
	Value    *ID    `json:"value,omitempty"` // whose value the orchestration had read last when it submitted the task
	Peers    bool   `json:"peers"`           // it has to do with other ranks

	Submitted  Time `json:"submitted_ns"`  // it was in storage
	Ready      Time `json:"ready_ns"`      // what it waits for had ended, as far as control cores knew
	Dispatched Time `json:"dispatched_ns"` // a control core turned to it
	Begin      Time `json:"begin_ns"`      // of the kernel
	End        Time `json:"end_ns"`
	Noticed    Time `json:"noticed_ns"` // a control core knew of the end
}

// add adds the time of the kernel to one of the first two sums, and the time around it to the last.
func (s *Span) add(compute, communicate, schedule *Time) {
	kernel := compute
	if s.Peers {
		kernel = communicate
	}
	*kernel += s.End - s.Begin
	*schedule += s.Begin - s.Dispatched + s.Noticed - s.End
}

// Work is something that a control core, or the host, did for a task.
type Work struct {
	Rank int      `json:"rank"`
	Core int      `json:"core"` // counts the schedulers from 0; BuilderCore is who builds beside them
	Kind WorkKind `json:"kind"`
	Task ID       `json:"task"`
	From Time     `json:"from_ns"`
	To   Time     `json:"to_ns"`
}

// BuilderCore is the number of the host, or of the orchestrator, among those who work for
// tasks.
const BuilderCore = -1

// WorkKind is what was done.
type WorkKind uint8

// The kinds of work.
const (
	Building    WorkKind = iota // submitting a task
	Dispatching                 // handing a task to its compute cores
	Noticing                    // reading that a compute core has ended
	Posting                     // telling another rank of the end of a task, or of a value
	Receiving                   // reading what another rank tells
	Reading                     // reading a value of a task, which the orchestration waits for
)

var workNames = [...]string{"build", "dispatch", "notice", "post", "receive", "read"}

func (k WorkKind) String() string { return workNames[k] }

// MarshalText writes the kind as a word.
func (k WorkKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// sum adds up where the time went.
func (r *Result) sum() {
	slices.SortFunc(r.Spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Member, b.Member))
	})
	slices.SortStableFunc(r.Control, func(a, b Work) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Core, b.Core))
	})
	for i := range r.Spans {
		s := &r.Spans[i]
		s.add(&r.Compute, &r.Communicate, &r.Schedule)
	}
	r.Idle = r.idle()
	r.Critical = r.critical()
	for i := range r.Control {
		w := &r.Control[i]
		*[]*Time{&r.Build, &r.Dispatch, &r.Notice, &r.Dispatch, &r.Notice, &r.Build}[w.Kind] += w.To - w.From
	}
}

// idle returns what is left of the time of all compute cores, which may not fit a Time.
func (r *Result) idle() Time {
	hi, lo := bits.Mul64(uint64(r.Ranks*r.Cores), uint64(r.Makespan))
	lo, borrow := bits.Sub64(lo, uint64(r.Compute+r.Communicate+r.Schedule), 0)
	if hi != borrow || lo > uint64(simtime.Never) {
		return simtime.Never
	}
	return Time(lo)
}

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

// key returns what identifies a task in the results.
func (r *Result) key(rank int, id ID) Ref {
	if r.single {
		rank = 0
	}
	return Ref{int32(rank), id}
}

// critical follows the tasks that the makespan is made of.
func (r *Result) critical() (c Critical) {
	last := make(map[Ref]*Span, len(r.Spans)) // the member of each task that was noticed last
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
		at.add(&c.Compute, &c.Communicate, &c.Schedule)
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
