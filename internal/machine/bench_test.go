package machine

import (
	"context"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// ringProgram returns a program for PEs in a ring. In each of the given rounds, every PE
// sends a tile of 64 elements east, receives a tile from the west, and adds the received
// tile to its own.
func ringProgram(ids []PEID, rounds int) Program {
	p := Program{Name: "ring", Targets: ids, Body: func(t *tl.PE) {
		acc := t.Full(tl.Shape{64}, tl.F16, 1)
		for range rounds {
			t.Send(tl.East, acc)
			acc = acc.Add(t.Recv(tl.West, tl.Shape{64}, tl.F16))
		}
	}}
	for i, id := range ids {
		p.Links = append(p.Links, Connection{id, tl.East, ids[(i+1)%len(ids)], tl.West})
	}
	return p
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// repeater is a handler that posts its next event until left is 0.
type repeater struct {
	eng    *sim.Engine
	target sim.Target
	left   int
}

func (h *repeater) Handle(_ sim.Kind, arg uint64) {
	if h.left--; h.left > 0 {
		h.eng.At(h.eng.Now()+simtime.Time(1+arg%97)*ns, h.target, 0, arg*6364136223846793005+1442695040888963407)
	}
}

// measureBareEvents returns the number of empty events that the engine handles per second
// of CPU time. An empty event does nothing. `pending` is the number of events that are in
// the queue at any time.
func measureBareEvents(b *testing.B, pending int) float64 {
	h := &repeater{eng: sim.New(), left: 2_000_000}
	h.target = h.eng.Register(h)
	for i := range pending {
		h.eng.At(simtime.Time(i)*ns, h.target, 0, uint64(i))
	}
	began := cpuTime()
	if err := h.eng.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	return float64(h.eng.Events()) / (cpuTime() - began).Seconds()
}

// BenchmarkQueueMessages measures how many messages between PEs in a ring are simulated per
// second of CPU time. A message consists of a send, a receive and an addition. The benchmark
// alternates with measureBareEvents and reports the messages per 1,000 empty events. All
// results are medians of the rounds.
func BenchmarkQueueMessages(b *testing.B) {
	for _, c := range []struct {
		name   string
		sets   []string
		rounds int
	}{
		{"256", nil, 2000},
		{"16384", []string{"system.sips.count=128", "system.sips.topology=torus_2d", "system.sips.w=8", "system.sips.h=16"}, 200},
	} {
		b.Run(c.name, func(b *testing.B) {
			var perEvents, perSecond, bare []float64
			var eventsPerMessage float64
			for b.Loop() {
				b.StopTimer()
				m := build(b, Options{}, "default", c.sets...)
				ids := everyPE(m)
				for _, id := range ids {
					m.PE(id)
				}
				empty := measureBareEvents(b, len(ids))
				before := m.Engine.Events()
				b.StartTimer()
				began := cpuTime()
				if _, err := m.Start(ringProgram(ids, c.rounds), sim.Event{}); err != nil {
					b.Fatal(err)
				}
				m.mustRun(b)
				messages := float64(len(ids) * c.rounds)
				rate := messages / (cpuTime() - began).Seconds()
				perEvents, perSecond, bare = append(perEvents, 1000*rate/empty), append(perSecond, rate), append(bare, empty)
				eventsPerMessage = float64(m.Engine.Events()-before) / messages
				b.StopTimer()
				m.Close()
				b.StartTimer()
			}
			b.ReportMetric(median(perEvents), "msgs/1000-bare-events")
			b.ReportMetric(median(perSecond), "msgs/cpu-s")
			b.ReportMetric(median(bare), "bare-events/cpu-s")
			b.ReportMetric(eventsPerMessage, "events/msg")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkThreads measures by how much two threads shorten the wall-clock time of the queue
// messages of 16,384 PEs. It alternates one thread and two; the result is the median of the
// ratios. The kernel frees its tiles, so that little memory is used for the first time: page
// faults of two threads wait for each other.
func BenchmarkThreads(b *testing.B) {
	var ratios []float64
	var seconds [2][]float64
	for b.Loop() {
		var events [2]uint64
		for i, threads := range []int{1, 2} {
			m := build(b, Options{Threads: threads}, "default", "system.sips.count=128", "system.sips.topology=torus_2d", "system.sips.w=8", "system.sips.h=16")
			ids := everyPE(m)
			for _, id := range ids {
				m.PE(id)
			}
			runtime.GC()
			began := time.Now()
			p := ringProgram(ids, 0)
			p.Body = func(t *tl.PE) {
				acc := t.Full(tl.Shape{64}, tl.F16, 1)
				for range 200 {
					t.Send(tl.East, acc)
					x := t.Recv(tl.West, tl.Shape{64}, tl.F16)
					sum := acc.Add(x)
					x.Free()
					acc.Free()
					acc = sum
				}
			}
			if _, err := m.Start(p, sim.Event{}); err != nil {
				b.Fatal(err)
			}
			m.mustRun(b)
			seconds[i], events[i] = append(seconds[i], time.Since(began).Seconds()), m.Engine.Events()
			m.Close()
		}
		if events[0] != events[1] {
			b.Fatalf("%d events with one thread, %d with two", events[0], events[1])
		}
		n := len(seconds[0]) - 1
		ratios = append(ratios, seconds[0][n]/seconds[1][n])
	}
	b.ReportMetric(median(ratios), "times-as-fast")
	b.ReportMetric(median(seconds[0]), "s-of-1-thread")
	b.ReportMetric(median(seconds[1]), "s-of-2-threads")
	b.ReportMetric(0, "ns/op")
}

// median returns the median of a list that is not empty.
func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// BenchmarkSelect measures four programs: a Select whose first case is ready; a Select
// whose second case is ready; a message between two PEs; and such a message with a Select
// that waits for it. The CPU of a PE runs ahead of the simulation. The second Select must
// wait until the simulation has reached the time of the CPU: only then is it known that the
// first case is not ready.
func BenchmarkSelect(b *testing.B) {
	recv, signal := tl.CanRecv(tl.West), tl.CanSignal(0, tl.NE, 0)
	send := tl.CanSend(tl.East, tl.Shape{64}, tl.F16)
	exchange := func(t *tl.PE, x tl.Tile, wait bool) {
		t.Send(tl.East, x)
		if wait {
			t.Select(signal, recv)
		}
		t.Recv(tl.West, tl.Shape{64}, tl.F16)
	}
	for _, c := range []struct {
		name  string
		round func(t *tl.PE, x tl.Tile)
	}{
		{"first", func(t *tl.PE, _ tl.Tile) { t.Select(send, recv) }},
		{"second", func(t *tl.PE, _ tl.Tile) { t.Select(signal, send) }},
		{"message", func(t *tl.PE, x tl.Tile) { exchange(t, x, false) }},
		{"message-waited-for", func(t *tl.PE, x tl.Tile) { exchange(t, x, true) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := build(b, Options{}, "default")
			defer m.Close()
			ids := []PEID{0, 1}
			b.ReportAllocs()
			_, err := m.Start(Program{Name: "k", Targets: ids, Links: ring(ids...), Body: func(t *tl.PE) {
				x := t.Zeros(tl.Shape{64}, tl.F16).Pin()
				for range b.N/len(ids) + 1 {
					c.round(t, x)
				}
			}}, sim.Event{})
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			began := cpuTime()
			m.mustRun(b)
			b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
