package progress

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// TestRun checks that the line of progress is removed when kernels print and when the run
// ends, and that no line is written if the output is not a terminal.
func TestRun(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "slow: running for 1 s\r\x1b[Kslow: running for 2 s\r\x1b[K[sip0.cube0.pe0 5ns] hello\nslow: running for 2 s\r\x1b[Kslow: running for 3 s\r\x1b[K",
		false: "[sip0.cube0.pe0 5ns] hello\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out, results bytes.Buffer
			p := start(&out, "slow", terminal)
			time.Sleep(2100 * time.Millisecond)
			if _, err := p.Write([]byte("[sip0.cube0.pe0 5ns] hello\n")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if _, err := p.Writer(&results).Write([]byte("a row\n")); err != nil {
				t.Fatal(err)
			}
			p.Stop()
			if out.String() != want || results.String() != "a row\n" {
				t.Errorf("terminal %v: got %q and %q, want %q", terminal, out.String(), results.String(), want)
			}
		})
	}
}

// TestSimulated checks that the line of a single simulated run shows the simulated time, the
// events per second and the expected time left, and that the line of several points does
// not.
func TestSimulated(t *testing.T) {
	for total, want := range map[int]string{
		1: "slow: 0 of 1 points, running for 2 s, 6.3 µs simulated, 0.0 million events/s, about 4s left\n",
		2: "slow: 0 of 2 points, running for 2 s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := start(&out, "slow", false)
			p.Update(0, total, -1)
			e := sim.New()
			target := e.Register(idle{})
			for i := range 100 {
				e.At(simtime.Time(i)*100*simtime.Nanosecond, target, 0, 0)
			}
			sim.Expect(p.Context(t.Context()), func() simtime.Time { return 18900 * simtime.Nanosecond })
			if err := e.Run(p.Context(t.Context())); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2100 * time.Millisecond)
			p.Stop()
			if out.String() != want {
				t.Errorf("got %q, want %q", out.String(), want)
			}
		})
	}
}

// idle is a handler that does nothing.
type idle struct{}

func (idle) Handle(sim.Kind, uint64) {}

// TestPoints checks that the displayed time left counts down from the latest update. If the
// output is not a terminal, lines are written 2, 6 and 14 seconds after the start, and then
// every 10 seconds.
func TestPoints(t *testing.T) {
	for terminal, want := range map[bool]string{
		true: "sweep: 50 of 200 points, running for 0 s\r\x1b[Ksweep: 52 of 200 points, about 16s left\r\x1b[Ksweep: 52 of 200 points, about 15s left\r\x1b[K",
		false: "sweep: 52 of 200 points, about 15s left\nsweep: 60 of 200 points, about 30s left\nsweep: 60 of 200 points, about 22s left\n" +
			"sweep: 60 of 200 points, about 12s left\nsweep: 60 of 200 points, about 2s left\nsweep: 60 of 200 points, about 1s left\nsweep: 60 of 200 points, about 1s left\nsweep: 200 of 200 points, running for 64 s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := start(&out, "sweep", terminal)
			p.Update(50, 200, -1)
			time.Sleep(900 * time.Millisecond)
			p.Update(52, 200, 16*time.Second)
			time.Sleep(1500 * time.Millisecond)
			if !terminal {
				time.Sleep(3500 * time.Millisecond)
				p.Update(60, 200, 30*time.Second)
				time.Sleep(55 * time.Second)
				p.Update(200, 200, 0)
				time.Sleep(10 * time.Second)
			}
			p.Stop()
			if out.String() != want {
				t.Errorf("terminal %v: got\n%q, want\n%q", terminal, out.String(), want)
			}
		})
	}
}
