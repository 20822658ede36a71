package sim

import (
	"context"
	"sync"
	"sync/atomic"
)

// Meter counts the events of engines while they run. Any goroutine may read it.
type Meter struct {
	events   atomic.Uint64
	now      atomic.Int64
	expected atomic.Pointer[func() Time]
}

// Events returns the number of events that have run.
func (m *Meter) Events() uint64 { return m.events.Load() }

// Now returns the simulated time of the engine that reported last.
func (m *Meter) Now() Time { return Time(m.now.Load()) }

// Expected returns the simulated time at which the latest run is expected to end, or 0 if it
// is not known.
func (m *Meter) Expected() Time {
	if f := m.expected.Load(); f != nil {
		return (*f)()
	}
	return 0
}

// Expect tells the Meter of ctx, if there is one, when the run that starts next is expected
// to end. The function `end` returns that simulated time, or 0 if it is not known. The first
// call of Expected calls it, maybe in another goroutine while the run takes place.
func Expect(ctx context.Context, end func() Time) {
	if m := meterOf(ctx); m != nil {
		once := sync.OnceValue(end)
		m.expected.Store(&once)
	}
}

// meterKey is the key of the Meter in a context.
type meterKey struct{}

// WithMeter returns a context whose runs report to m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// meterOf returns the Meter of ctx, or nil if there is none.
func meterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}
