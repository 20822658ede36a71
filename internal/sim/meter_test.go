package sim

import (
	"context"
	"testing"
)

// TestMeter checks that a run reports its events and its simulated time to the meter of its
// context. The engine reports once in beatEvery events.
func TestMeter(t *testing.T) {
	var m Meter
	e := New()
	target := e.Register(callback(func() {}))
	for i := range 3*beatEvery + 1 {
		e.At(Time(i), target, 0, 0)
	}
	if err := e.Run(WithMeter(context.Background(), &m)); err != nil {
		t.Fatal(err)
	}
	if m.Events() != 3*beatEvery || m.Now() != 3*beatEvery-1 {
		t.Errorf("%d events at %v, want %d at %v", m.Events(), m.Now(), 3*beatEvery, Time(3*beatEvery-1))
	}
}
