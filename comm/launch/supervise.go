package launch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// runner is a rank as the launcher has it in hand. Neither call waits.
type runner interface {
	stop(why string)                  // asks it to end
	kill() (how string, became blame) // ends it, if that can be done
}

// event is what became of a rank.
type event struct {
	rank int
	kind eventKind
	outcome
	died error // of ended: how, if the rank told no outcome
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
	patience time.Duration // for one more rank to arrive
	events   chan event
	ranks    []watched
	left     int // have not ended
	done     int // have done their job
	failures []failure
	stopping bool
	cause    error // that the context ended with
	overdue  <-chan time.Time
}

// watched is what the supervisor knows of a rank.
type watched struct {
	runner
	phase     string // what it is doing, "open: ", unless that is its job
	arrived   bool
	ended     bool
	result    []byte
	condemned error // why it was killed from here
	blame     blame // for that
}

func newSupervisor(o Options) *supervisor {
	return &supervisor{
		patience: max(o.Timeout, startTimeout), ranks: make([]watched, o.Ranks), events: make(chan event, eventsPerRank*o.Ranks),
	}
}

// add takes charge of a rank that has been started.
func (s *supervisor) add(rank int, r runner) {
	s.ranks[rank] = watched{runner: r, phase: "start: "}
	s.left++
}

// wait returns when all ranks that were started have ended.
func (s *supervisor) wait(ctx context.Context) {
	late := time.NewTimer(s.patience)
	defer late.Stop()
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
		if e.died != nil {
			e.err = fmt.Errorf("%s%w", r.phase, e.died)
			if r.condemned != nil {
				e.err, e.blame = r.condemned, r.blame
			}
		}
		if e.err != nil {
			s.fail(e.rank, e.outcome)
		} else {
			s.done++
		}
	}
}

func (s *supervisor) fail(rank int, o outcome) {
	e := &RankError{rank, o.err}
	s.failures = append(s.failures, failure{e, o.blame})
	s.stop(e.Error())
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

// results is what the jobs returned: nil unless all did.
func (s *supervisor) results() [][]byte {
	if s.done < len(s.ranks) {
		return nil
	}
	results := make([][]byte, len(s.ranks))
	for i := range s.ranks {
		results[i] = s.ranks[i].result
	}
	return results
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
