package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
)

// rankControl controls a started rank. Its methods do not block.
type rankControl interface {
	stop(why string)                  // asks the rank to end
	kill() (how string, became blame) // ends the rank if possible
	suspended() (pid int)             // returns the ID of the process if a signal has stopped it, else 0
}

// event is a message to the supervisor about a rank.
type event struct {
	rank int
	kind eventKind
	outcome
	died       error // kind ended: how the rank ended, if it reported no outcome
	termSignal bool  // it died by a signal that asks programs to end
}

type eventKind uint8

const (
	arrived eventKind = iota // the rank runs and opens the communicator
	opened                   // the communicator is open; the rank begins its job
	failing                  // the rank has reported an error
	ended                    // the rank has ended; its last event
)

// eventsPerRank is the largest number of events of a rank. The channel has capacity for all
// events, so that senders do not block.
const eventsPerRank = 5

// supervisor waits for the ranks of a run, and stops all ranks when one fails.
type supervisor struct {
	out            *output
	arrivalTimeout time.Duration // the time to wait for one more rank to arrive
	events         chan event
	ranks          []rankState
	unfinished     int // the number of ranks that have not ended
	succeeded      int // the number of ranks whose job succeeded
	failures       []failure
	stopping       bool
	cause          error            // the cause of the context, if it has ended
	termSignal     bool             // a rank has died by a signal that asks programs to end
	oomKills       uint64           // OOM kills of this control group before the run, plus those attributed to its ranks
	overdue        <-chan time.Time // fires when ranks that were asked to stop must be killed
}

// rankState is the supervisor's state of a rank.
type rankState struct {
	rankControl        // nil if the rank could not be started
	phase       string // "start: " or "open: " for errors before the job begins, then ""
	arrived     bool
	ended       bool
	result      []byte
	killReason  error // why the supervisor killed the rank; nil if it did not
	blame       blame // the blame for killReason
	suspended   int   // how many times in a row the process was found stopped
}

func newSupervisor(o Options, out *output) *supervisor {
	return &supervisor{
		out: out, arrivalTimeout: max(o.Timeout, startTimeout), ranks: make([]rankState, o.Ranks), events: make(chan event, eventsPerRank*o.Ranks),
		oomKills: host.OOMKills(),
	}
}

// add adds a rank that the launcher has tried to start. r controls the rank; it is nil if
// the rank could not be started.
func (s *supervisor) add(rank int, r rankControl) {
	s.ranks[rank] = rankState{rankControl: r, phase: "start: "}
	s.unfinished++
}

// wait handles the events of the ranks, the end of ctx and the timeouts until all started
// ranks have ended.
func (s *supervisor) wait(ctx context.Context) {
	late := time.NewTimer(s.arrivalTimeout)
	defer late.Stop()
	suspendTicker := time.NewTicker(suspendedPeriod)
	defer suspendTicker.Stop()
	done := ctx.Done()
	for s.unfinished > 0 {
		select {
		case e := <-s.events:
			if e.kind == arrived {
				late.Reset(s.arrivalTimeout)
			}
			s.handle(e)
		case <-done:
			done = nil
			s.cause = context.Cause(ctx)
			s.stop(s.cause.Error())
		case <-late.C:
			s.killMissing()
		case <-s.overdue:
			s.killRest()
		case <-suspendTicker.C:
			s.reportSuspended()
		}
	}
	if s.termSignal && s.cause == nil {
		// The signal may have been sent to the process group. Then the caller receives it,
		// too, and ends ctx. In this case the ranks have not failed.
		select {
		case <-done:
		case <-time.After(grace):
		}
	}
	if s.cause == nil && s.succeeded < len(s.ranks) {
		s.cause = context.Cause(ctx) // the context ended before there were ranks to stop
	}
}

// handle updates the state of the rank that event e is about. If the rank has failed,
// handle stops the run.
func (s *supervisor) handle(e event) {
	r := &s.ranks[e.rank]
	if r.ended {
		return // a goroutine that was left running
	}
	switch e.kind {
	case arrived:
		r.arrived, r.phase = true, "open: "
	case opened:
		r.phase = ""
	case failing:
		s.stop((&RankError{e.rank, e.err}).Error())
	case ended:
		r.ended, r.result = true, e.result
		s.unfinished--
		s.termSignal = s.termSignal || e.termSignal
		if e.died != nil {
			e.err = fmt.Errorf("%s%w", r.phase, s.explain(e.died))
			if r.killReason != nil {
				e.err, e.blame = r.killReason, r.blame
			}
		}
		if e.err == nil {
			s.succeeded++
			return
		}
		failed := &RankError{e.rank, e.err}
		s.failures = append(s.failures, failure{failed, e.blame})
		s.stop(failed.Error())
	}
}

// explain returns the error for a rank whose process died without an outcome. This is the
// error `died`, and also the reason if the kernel killed the process for lack of memory.
// The kernel counts the processes of the control group that it has killed for lack of
// memory; explain attributes each of these kills to one rank.
func (s *supervisor) explain(died error) error {
	if !killedForMemory(died) || host.OOMKills() <= s.oomKills {
		return died
	}
	s.oomKills++
	why := ""
	if m := host.Available(); m.Total > 0 {
		why = fmt.Sprintf(", %s %s", m.Where, host.GB(m.Total))
	}
	return fmt.Errorf("%w: out of memory%s: take fewer ranks, or have them use less", died, why)
}

// stop asks all ranks to end. `why` is the reason that the ranks receive. Only the first
// call has an effect.
func (s *supervisor) stop(why string) {
	if s.stopping {
		return
	}
	s.stopping = true
	s.overdue = time.After(grace)
	for i := range s.ranks {
		if r := &s.ranks[i]; r.rankControl != nil && !r.ended {
			r.stop(why)
		}
	}
}

// killMissing kills the ranks that were started but have not reported that they run, and
// stops the run.
func (s *supervisor) killMissing() {
	if s.stopping {
		return // the ranks were asked to stop, and are killed soon
	}
	for i := range s.ranks {
		if r := &s.ranks[i]; r.rankControl != nil && !r.arrived && !r.ended {
			how, _ := r.kill()
			r.killReason = fmt.Errorf("%s%s: nothing heard in %v; main has to call launch.Child before anything else", r.phase, how, s.arrivalTimeout)
			s.stop((&RankError{i, r.killReason}).Error())
		}
	}
}

// killRest kills the ranks that were asked to stop and have not ended in time.
func (s *supervisor) killRest() {
	for i := range s.ranks {
		if r := &s.ranks[i]; r.rankControl != nil && !r.ended && r.killReason == nil {
			how, became := r.kill()
			r.killReason, r.blame = fmt.Errorf("did not stop in %v: %s", grace, how), became
		}
	}
}

// reportSuspended writes a message about each rank whose process a signal has stopped, once
// per rank. Other ranks wait for such a rank without limit, which looks like a hang. A
// process is reported only when it is found stopped twice in a row, because after the first
// time it may be about to continue together with the launcher.
func (s *supervisor) reportSuspended() {
	for i := range s.ranks {
		r := &s.ranks[i]
		if r.rankControl == nil || r.ended || s.stopping {
			continue
		}
		pid := r.rankControl.suspended()
		if pid == 0 {
			r.suspended = 0
			continue
		}
		if r.suspended++; r.suspended == 2 {
			fmt.Fprintf(s.out.forRank(i), "process %d is stopped, and ranks that need it wait: continue it with kill -CONT %[1]d, or end the run\n", pid)
		}
	}
}

// results returns the results of the jobs by rank. It returns nil if a job failed.
func (s *supervisor) results() [][]byte {
	if s.succeeded < len(s.ranks) {
		return nil
	}
	return lists.Make(len(s.ranks), func(i int) []byte { return s.ranks[i].result })
}

// runError returns the error of the whole run. It is nil if all jobs succeeded.
func (s *supervisor) runError() error {
	stopped := s.cause != nil && s.succeeded < len(s.ranks)
	errs := summarise(s.failures, stopped)
	if stopped {
		errs = append([]error{fmt.Errorf("the run was stopped: %w", s.cause)}, errs...)
	}
	return errors.Join(errs...)
}
