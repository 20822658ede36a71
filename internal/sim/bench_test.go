package sim

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kernbench/kernbench/simtime"
)

// The benchmarks compare the engine with simple implementations: an event queue on
// container/heap, and processes as goroutines with channels. Each benchmark runs both,
// reports the nanoseconds per step of both and the speedup of the engine, and fails if the
// speedup is below these minimums.
const (
	minEventRatio  = 4 // at 1,000 pending events
	minSwitchRatio = 3
)

// delays are random delays of up to 100 ns.
var delays = func() (d [1 << 12]Time) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range d {
		d[i] = 1 + Time(r.Int64N(int64(100*simtime.Nanosecond)))
	}
	return d
}()

// holdQueue returns how long n steps of queue.hold take with the given number of pending
// events.
func holdQueue(pending, n int) time.Duration {
	q := fillQueue(pending)
	start := time.Now()
	q.hold(n)
	return time.Since(start)
}

// fillQueue returns a queue with the given number of events, at random times.
func fillQueue(pending int) *queue {
	q := &queue{}
	for i := range pending {
		q.push(delays[i%len(delays)], 0, 0, uint64(i))
	}
	return q
}

// hold runs n steps of the classic queue benchmark. A step removes the earliest event and
// schedules another event after a random delay, so that the number of pending events stays
// constant.
func (q *queue) hold(n int) {
	for i := range n {
		at, e, _ := q.pop(simtime.Never)
		q.push(at+delays[i%len(delays)], e.Target, e.Kind, e.Arg)
	}
}

type heapEvent struct {
	at     Time
	seq    uint64
	target Target
	kind   Kind
	arg    uint64
}

// eventHeap is an event queue on container/heap.
type eventHeap []heapEvent

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(heapEvent)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// holdHeap returns how long n steps take on an eventHeap with the given number of pending
// events. A step is the same as in queue.hold: it removes the earliest event and schedules
// another one.
func holdHeap(pending, n int) time.Duration {
	h := make(eventHeap, 0, pending+1)
	seq := uint64(0)
	push := func(at Time, target Target, kind Kind, arg uint64) {
		seq++
		heap.Push(&h, heapEvent{at, seq, target, kind, arg})
	}
	for i := range pending {
		push(delays[i%len(delays)], 0, 0, uint64(i))
	}
	start := time.Now()
	for i := range n {
		e := heap.Pop(&h).(heapEvent)
		push(e.at+delays[i%len(delays)], e.target, e.kind, e.arg)
	}
	return time.Since(start)
}

// BenchmarkEventRatio measures how much faster queue is than eventHeap.
func BenchmarkEventRatio(b *testing.B) {
	for _, pending := range []int{1, 1_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			least := 0.0
			if pending == 1_000 {
				least = minEventRatio
			}
			compare(b, least, "container-heap",
				func(n int) time.Duration { return holdQueue(pending, n) },
				func(n int) time.Duration { return holdHeap(pending, n) })
		})
	}
}

// BenchmarkEvent measures only queue, without eventHeap, for profiles and allocation
// counts.
func BenchmarkEvent(b *testing.B) {
	for _, pending := range []int{1, 1_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			q := fillQueue(pending)
			b.ReportAllocs()
			b.ResetTimer()
			q.hold(b.N)
		})
	}
}

// switchProcs returns how long n switches from the engine to a process and back take.
func switchProcs(n int) time.Duration {
	eng := New()
	defer eng.Close()
	p := eng.Go("ping", func(p *Proc) {
		for p.yield(struct{}{}) {
		}
	})
	start := time.Now()
	for range n {
		p.resume()
	}
	return time.Since(start)
}

// switchChannels returns how long n round trips between two goroutines take. In a round
// trip, each goroutine wakes the other one over a channel.
func switchChannels(n int) time.Duration {
	resume, yield, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range resume {
			yield <- struct{}{}
		}
	}()
	start := time.Now()
	for range n {
		resume <- struct{}{}
		<-yield
	}
	elapsed := time.Since(start)
	close(resume)
	<-done
	return elapsed
}

// BenchmarkSwitchRatio measures how much faster a switch to a process is than a switch
// between goroutines over channels.
func BenchmarkSwitchRatio(b *testing.B) {
	compare(b, minSwitchRatio, "channel", switchProcs, switchChannels)
}

// BenchmarkSleep measures Proc.Sleep: one event, and a switch to the process and back.
func BenchmarkSleep(b *testing.B) {
	b.ReportAllocs()
	eng := New()
	defer eng.Close()
	eng.Go("sleeper", func(p *Proc) {
		for range b.N {
			p.Sleep(1)
		}
	})
	if err := eng.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// compare measures n steps of the function `ours`, the engine, and n steps of `theirs`, the
// simple implementation. It measures them in alternation, so that other load on the
// computer affects both equally. It reports the fastest round of each. It fails if `theirs`
// takes less than `least` times as long as `ours`. `name` is the name of `theirs` in the
// report.
func compare(b *testing.B, least float64, name string, ours, theirs func(n int) time.Duration) {
	const rounds = 5
	n := max(b.N/rounds, 100_000) // enough steps to make the start-up negligible
	best := [2]time.Duration{1 << 62, 1 << 62}
	for range rounds {
		best[0] = min(best[0], ours(n))
		best[1] = min(best[1], theirs(n))
	}
	perStep := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n) }
	ratio := float64(best[1]) / float64(best[0])
	b.ReportMetric(0, "ns/op") // the sum of both has no meaning
	b.ReportMetric(perStep(best[0]), "ns/ours")
	b.ReportMetric(perStep(best[1]), "ns/"+name)
	b.ReportMetric(ratio, "x-faster")
	if ratio < least {
		b.Errorf("%.1f times as fast as %s, want at least %v", ratio, name, least)
	}
}
