package launch

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/kernbench/kernbench/comm/inproc"
)

var inprocRuns atomic.Int64

// goroutine is a rank that is one.
type goroutine struct {
	cancel context.CancelCauseFunc
	gone   func() // tells that it has ended, as far as the launcher is concerned
}

func (g *goroutine) stop(why string) { g.cancel(stopped(why)) }

func (g *goroutine) kill() (how string, became blame) {
	g.gone()
	return "left running, since a goroutine cannot be killed", running
}

func (*goroutine) suspended() int { return 0 }

// startGoroutines starts ranks of backend inproc.
func startGoroutines(_ context.Context, o Options, out *output, all order, s *supervisor) (end func() error, err error) {
	at := fmt.Sprintf("launch %d", inprocRuns.Add(1))
	for rank := range o.Ranks {
		// Not of the caller's context: the supervisor passes its end on.
		ctx, cancel := context.WithCancelCause(context.Background())
		text := out.of(rank)
		d := desk{
			backend: inproc.Name, rendezvous: at, bind: bindThread, stack: text,
			opened: func() { s.events <- event{rank: rank, kind: opened} },
		}
		s.add(rank, &goroutine{cancel, func() { s.events <- event{rank: rank, kind: ended, died: context.Canceled} }})
		s.events <- event{rank: rank, kind: arrived}
		go func() {
			defer cancel(nil)
			done := all.of(rank, o.CPUs).work(ctx, d)
			text.flush()
			if done.err != nil {
				s.events <- event{rank: rank, kind: failing, outcome: done}
			}
			s.events <- event{rank: rank, kind: ended, outcome: done}
		}()
	}
	return func() error { return nil }, nil
}

// bindThread binds the goroutine, and its thread ends with it.
func bindThread(cpu int) error {
	runtime.LockOSThread()
	return bind(0, cpu)
}
