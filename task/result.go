package task

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// Time is simulated time.
type Time = sim.Time

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
	// sim.Never if it is longer than that: 131,072 cores without work for 71 ms.
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
		if s.Peers {
			r.Communicate += s.End - s.Begin
		} else {
			r.Compute += s.End - s.Begin
		}
		r.Schedule += s.Begin - s.Dispatched + s.Noticed - s.End
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
	if hi != borrow || lo > uint64(sim.Never) {
		return sim.Never
	}
	return Time(lo)
}
