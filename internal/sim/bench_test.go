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
// container/heap, and processes as goroutines with channels. Both run in the same
// benchmark. They report the nanoseconds per step of each and the ratio, and fail if the
// ratio is below these minimums.
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

// holdQueue measures n steps of hold with a number of pending events.
func holdQueue(pending, n int) time.Duration {
	q := fillQueue(pending)
	start := time.Now()
	q.hold(n)
	return time.Since(start)
}

// fillQueue returns a queue with a number of pending events.
func fillQueue(pending int) *queue {
	q := &queue{}
	for i := range pending {
		q.push(delays[i%len(delays)], 0, 0, uint64(i))
	}
	return q
}

// hold runs n steps of the classic queue benchmark: it takes the earliest event and
// schedules another event after a random delay, so that the number of events is constant.
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

// holdHeap measures n steps of hold on an eventHeap.
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

// BenchmarkEventRatio compares queue with eventHeap.
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

// BenchmarkEvent measures only the queue, for profiles and allocation counts.
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

// switchProcs measures n switches to a process and back.
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

// switchChannels measures n switches between two goroutines over channels.
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

// BenchmarkSwitchRatio compares a switch to a process with a switch over channels.
func BenchmarkSwitchRatio(b *testing.B) {
	compare(b, minSwitchRatio, "channel", switchProcs, switchChannels)
}

// BenchmarkSleep measures a sleep of a process: an event, and a switch to the process and
// back.
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

// compare runs n steps of ours and of the baseline theirs in alternation, so that other
// load affects both equally. It reports the best round of each.
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
