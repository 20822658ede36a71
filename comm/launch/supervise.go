package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
)

// runner is a started rank, as the launcher controls it. No call waits.
type runner interface {
	stop(why string)                  // asks it to end
	kill() (how string, became blame) // ends it, if that can be done
	suspended() (pid int)             // returns its process if a signal has stopped that, else 0
}

// event is what became of a rank.
type event struct {
	rank int
	kind eventKind
	outcome
	died  error // of ended: how, if the rank told no outcome
	asked bool  // of died: by a signal that asks programs to end
}

type eventKind uint8

const (
	arrived eventKind = iota // it runs, and will meet the others
	opened                   // it has met them and begins its job
	failing                  // it has told an outcome that is an error
	ended                    // it is gone; its last event
)

// eventsPerRank is the most that a rank has, so that nobody waits to tell one.
const eventsPerRank = 5

// supervisor waits for the ranks of a run, and stops all when one fails.
type supervisor struct {
	out      *output
	patience time.Duration // for one more rank to arrive
	events   chan event
	ranks    []watched
	left     int // have not ended
	done     int // have done their job
	failures []failure
	stopping bool
	cause    error  // that the context ended with
	asked    bool   // a rank has died of a signal that asks programs to end
	oomKills uint64 // of this control group, before the run or known to be of its ranks
	overdue  <-chan time.Time
}

// watched is what the supervisor knows of a rank.
type watched struct {
	runner           // nil if the rank could not be started
	phase     string // what it is doing, "open: ", unless that is its job
	arrived   bool
	ended     bool
	result    []byte
	condemned error // why it was killed from here
	blame     blame // for that
	suspended int   // how often in a row its process was found stopped
}

func newSupervisor(o Options, out *output) *supervisor {
	return &supervisor{
		out: out, patience: max(o.Timeout, startTimeout), ranks: make([]watched, o.Ranks), events: make(chan event, eventsPerRank*o.Ranks),
		oomKills: host.OOMKills(),
	}
}

// add takes charge of a rank that has been started, or of one that could not be, whose r is
// nil.
func (s *supervisor) add(rank int, r runner) {
	s.ranks[rank] = watched{runner: r, phase: "start: "}
	s.left++
}

// wait returns when all ranks that were started have ended.
func (s *supervisor) wait(ctx context.Context) {
	late := time.NewTimer(s.patience)
	defer late.Stop()
	look := time.NewTicker(suspendedPeriod)
	defer look.Stop()
	done := ctx.Done()
	for s.left > 0 {
		select {
		case e := <-s.events:
			if e.kind == arrived {
				late.Reset(s.patience)
			}
			s.handle(e)
		case <-done:
			done = nil
			s.cause = context.Cause(ctx)
			s.stop(s.cause.Error())
		case <-late.C:
			s.missing()
		case <-s.overdue:
			s.killRest()
		case <-look.C:
			s.reportSuspended()
		}
	}
	if s.asked && s.cause == nil {
		// The signal may have been sent to the group of processes. Then the caller gets it
		// too and ends ctx, and the ranks have not failed.
		select {
		case <-done:
		case <-time.After(grace):
		}
	}
	if s.cause == nil && s.done < len(s.ranks) {
		s.cause = context.Cause(ctx) // it ended before there were ranks to stop
	}
}

func (s *supervisor) handle(e event) {
	r := &s.ranks[e.rank]
	if r.ended {
		return // a goroutine that was given up
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
		s.left--
		s.asked = s.asked || e.asked
		if e.died != nil {
			e.err = fmt.Errorf("%s%w", r.phase, s.explain(e.died))
			if r.condemned != nil {
				e.err, e.blame = r.condemned, r.blame
			}
		}
		if e.err == nil {
			s.done++
			return
		}
		failed := &RankError{e.rank, e.err}
		s.failures = append(s.failures, failure{failed, e.blame})
		s.stop(failed.Error())
	}
}

// explain adds to the death of a rank that the kernel killed it for want of memory, if it
// did: once for each process of the control group that it says it has killed.
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

// stop asks all ranks to end, once.
func (s *supervisor) stop(why string) {
	if s.stopping {
		return
	}
	s.stopping = true
	s.overdue = time.After(grace)
	for i := range s.ranks {
		if r := &s.ranks[i]; r.runner != nil && !r.ended {
			r.stop(why)
		}
	}
}

// missing gives up on ranks that have not arrived.
func (s *supervisor) missing() {
	if s.stopping {
		return // they are asked to, or killed soon
	}
	for i := range s.ranks {
		if r := &s.ranks[i]; r.runner != nil && !r.arrived && !r.ended {
			how, _ := r.kill()
			r.condemned = fmt.Errorf("%s%s: nothing heard in %v; main has to call launch.Child before anything else", r.phase, how, s.patience)
			s.stop((&RankError{i, r.condemned}).Error())
		}
	}
}

// killRest ends ranks that were asked to stop and have not.
func (s *supervisor) killRest() {
	for i := range s.ranks {
		if r := &s.ranks[i]; r.runner != nil && !r.ended && r.condemned == nil {
			how, became := r.kill()
			r.condemned, r.blame = fmt.Errorf("did not stop in %v: %s", grace, how), became
		}
	}
}

// reportSuspended tells, once, of each rank whose process a signal has stopped. Ranks that
// wait for it do so without an end, which looks like a hang. A process that is found stopped
// only once may be about to go on, together with this one.
func (s *supervisor) reportSuspended() {
	for i := range s.ranks {
		r := &s.ranks[i]
		if r.runner == nil || r.ended || s.stopping {
			continue
		}
		pid := r.runner.suspended()
		if pid == 0 {
			r.suspended = 0
			continue
		}
		if r.suspended++; r.suspended == 2 {
			fmt.Fprintf(s.out.of(i), "process %d is stopped, and ranks that need it wait: continue it with kill -CONT %[1]d, or end the run\n", pid)
		}
	}
}

// results is what the jobs returned: nil unless all did.
func (s *supervisor) results() [][]byte {
	if s.done < len(s.ranks) {
		return nil
	}
	return lists.Make(len(s.ranks), func(i int) []byte { return s.ranks[i].result })
}

// verdict is nil if all ranks did their job.
func (s *supervisor) verdict() error {
	stopped := s.cause != nil && s.done < len(s.ranks)
	errs := summarise(s.failures, stopped)
	if stopped {
		errs = append([]error{fmt.Errorf("the run was stopped: %w", s.cause)}, errs...)
	}
	return errors.Join(errs...)
}
