package task

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/kernbench/kernbench/simtime"
)

// Time is simulated time.
type Time = simtime.Time

// Result is the outcome of a simulated run. All times count from when the launch of the
// program has begun on all PEs; this includes building on the host.
type Result struct {
	Runtime  Runtime `json:"runtime"`
	Config   *Config `json:"-"` // costs and storage of the runtime
	Ranks    int     `json:"ranks"`
	Cores    int     `json:"cores"`       // compute cores of each rank
	Tasks    int     `json:"tasks"`       // number of tasks of all ranks
	Makespan Time    `json:"makespan_ns"` // until the last completion, or the last read of a value

	// How compute cores spent their time, summed over all cores: together
	// Ranks·Cores·Makespan. Idle is simtime.Never if it does not fit into a Time, as for
	// 131,072 cores that are idle for 71 ms.
	Compute     Time `json:"pe_compute_ns"`     // in kernels that do not communicate with other ranks
	Communicate Time `json:"pe_communicate_ns"` // in kernels that access other ranks or wait for them
	Schedule    Time `json:"pe_schedule_ns"`    // with a task that has not begun, or whose end no control core has read
	Idle        Time `json:"pe_idle_ns"`        // without a task

	// How the host and the control cores spent their time, summed over all ranks.
	Build    Time `json:"control_build_ns"`    // building graphs and reading values
	Dispatch Time `json:"control_dispatch_ns"` // dispatching tasks, and sending messages to other ranks
	Notice   Time `json:"control_notice_ns"`   // reading ends of kernels, and messages from other ranks

	Critical Critical `json:"critical"` // how the makespan divides along the critical path

	single bool // one orchestration for all ranks, so that IDs are unique over all ranks

	Spans   []Span `json:"spans,omitempty"`   // work of the compute cores, in order of begin time
	Control []Work `json:"control,omitempty"` // work of the control cores and the host, in order of begin time
}

// Span is the run of one member of a task on its compute core.
type Span struct {
	Rank     int    `json:"rank"`
	Core     int    `json:"core"`
	Task     ID     `json:"task"`
	Member   int    `json:"member"`
	Name     string `json:"name"`
	Released ID     `json:"released"`        // task whose end made the task ready; -1 if its submission did
	Value    *ID    `json:"value,omitempty"` // task whose value the orchestration read last before it submitted this task; nil if none
	Peers    bool   `json:"peers"`           // the kernel communicates with other ranks

	Submitted  Time `json:"submitted_ns"`  // the task was stored
	Ready      Time `json:"ready_ns"`      // the control cores knew that everything the task waits for had ended
	Dispatched Time `json:"dispatched_ns"` // a control core began the dispatch
	Begin      Time `json:"begin_ns"`      // the kernel began
	End        Time `json:"end_ns"`        // the kernel ended
	Noticed    Time `json:"noticed_ns"`    // a control core had read the end
}

// add adds the times of the span to three sums. The time of the kernel is added to
// *communicate if the kernel communicates with other ranks, and otherwise to *compute. The
// times of its dispatch, start and completion are added to *schedule.
func (s *Span) add(compute, communicate, schedule *Time) {
	kernel := compute
	if s.Peers {
		kernel = communicate
	}
	*kernel += s.End - s.Begin
	*schedule += s.Begin - s.Dispatched + s.Noticed - s.End
}

// Work is an interval in which a control core, or the host, worked for a task.
type Work struct {
	Rank int      `json:"rank"`
	Core int      `json:"core"` // scheduling control core, from 0; BuilderCore for the host or the orchestrator
	Kind WorkKind `json:"kind"`
	Task ID       `json:"task"`
	From Time     `json:"from_ns"`
	To   Time     `json:"to_ns"`
}

// BuilderCore is the number of the host, or of the orchestrator, in Work.Core.
const BuilderCore = -1

// WorkKind is the kind of work that was done for a task.
type WorkKind uint8

// The kinds of work.
const (
	Building    WorkKind = iota // submitting a task
	Dispatching                 // writing a task to its compute cores
	Noticing                    // reading that a kernel has ended
	Posting                     // sending a message about the end of a task, or about a value, to another rank
	Receiving                   // reading a message from another rank
	Reading                     // reading a value that the orchestration waits for
)

var workNames = [...]string{"build", "dispatch", "notice", "post", "receive", "read"}

func (k WorkKind) String() string { return workNames[k] }

// MarshalText returns the kind as a word.
func (k WorkKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// sum sorts the spans and the work of the result. From them it computes the summed times
// and the critical path.
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
	r.Critical = r.criticalPath()
	for i := range r.Control {
		w := &r.Control[i]
		*[]*Time{&r.Build, &r.Dispatch, &r.Notice, &r.Dispatch, &r.Notice, &r.Build}[w.Kind] += w.To - w.From
	}
}

// idle returns the time that all compute cores spent without a task, summed over the cores.
// It returns simtime.Never if the sum does not fit into a Time.
func (r *Result) idle() Time {
	hi, lo := bits.Mul64(uint64(r.Ranks*r.Cores), uint64(r.Makespan))
	lo, borrow := bits.Sub64(lo, uint64(r.Compute+r.Communicate+r.Schedule), 0)
	if hi != borrow || lo > uint64(simtime.Never) {
		return simtime.Never
	}
	return Time(lo)
}

// Critical divides the makespan along the critical path. The path leads from the last
// completion back to the submission of the first task: from each task to the task that
// released it. If the submission of a task followed a value that the orchestration had
// waited for, the path continues at the task with that value. The times add up to the
// makespan.
type Critical struct {
	Tasks       int  `json:"tasks"`          // number of tasks on the path
	Build       Time `json:"build_ns"`       // before submissions: building, or reading values
	Stall       Time `json:"stall_ns"`       // before submissions: not building, because storage was full or the control core scheduled
	Wait        Time `json:"wait_ns"`        // ready tasks that waited for control cores or compute cores
	Schedule    Time `json:"schedule_ns"`    // from a dispatch to the start of the kernel, and from its end to the completion
	Compute     Time `json:"compute_ns"`     // in kernels that do not communicate with other ranks
	Communicate Time `json:"communicate_ns"` // in kernels that do, and in messages between ranks
}

// key returns the Ref under which maps of tasks hold the task with the given rank and ID.
// If one orchestration submits the tasks of all ranks, IDs are unique over all ranks, and
// the Ref has rank 0.
func (r *Result) key(rank int, id ID) Ref {
	if r.single {
		rank = 0
	}
	return Ref{int32(rank), id}
}

// criticalPath follows the critical path back from the last completion. It returns how much
// of the makespan each kind of activity takes on the path.
func (r *Result) criticalPath() (c Critical) {
	last := make(map[Ref]*Span, len(r.Spans)) // by task: the member that was noticed last
	builds := r.buildWork()
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
		c.addInterval(r, builds, at.Rank, at.Noticed, r.Makespan, at.Rank) // the last values were read after the last completion
	}
	for at != nil {
		c.Tasks++
		at.add(&c.Compute, &c.Communicate, &c.Schedule)
		c.Wait += at.Dispatched - at.Ready
		if at.Released >= 0 {
			from := last[r.key(at.Rank, at.Released)]
			c.Communicate += at.Ready - from.Noticed // 0 if both tasks are on one rank
			at = from
			continue
		}
		var from *Span
		since, rank := Time(0), at.Rank
		if at.Value != nil {
			from = last[r.key(at.Rank, *at.Value)]
			since, rank = from.Noticed, from.Rank
		}
		c.addInterval(r, builds, at.Rank, since, at.Ready, rank)
		at = from
	}
	return c
}

// addInterval adds to c the interval from `since` to `until`, in which the tasks of the
// given rank were built. At `until` a task was submitted, or the run ended. At `since` the
// run started, or a task on fromRank completed. In the second case, the orchestration
// waited for a value of this task. Time without building counts as communication if
// fromRank is another rank, and otherwise as a stall.
func (c *Critical) addInterval(r *Result, builds [][]*Work, rank int, since, until Time, fromRank int) {
	built := r.buildTime(builds, rank, since, until)
	c.Build += built
	if rest := until - since - built; fromRank == rank {
		c.Stall += rest
	} else {
		c.Communicate += rest
	}
}

// buildWork returns, by rank, the work of the kinds Building and Reading, in order of time.
func (r *Result) buildWork() [][]*Work {
	list := make([][]*Work, r.Ranks)
	for i := range r.Control {
		if w := &r.Control[i]; w.Kind == Building || w.Kind == Reading {
			list[w.Rank] = append(list[w.Rank], w)
		}
	}
	return list
}

// buildTime returns for how long, between the times `since` and `until`, a rank was
// building or reading values. `builds` is the result of buildWork.
func (r *Result) buildTime(builds [][]*Work, rank int, since, until Time) (took Time) {
	if r.single && r.Runtime == HostBuildGraph {
		rank = 0 // one host builds for all ranks
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
