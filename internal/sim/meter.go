package sim

import (
	"context"
	"sync/atomic"
)

// Meter counts the events of engines while they run. Any goroutine may read it.
type Meter struct {
	events atomic.Uint64
	now    atomic.Int64
}

// Events returns the number of events that have run.
func (m *Meter) Events() uint64 { return m.events.Load() }

// Now returns the simulated time of the engine that reported last.
func (m *Meter) Now() Time { return Time(m.now.Load()) }

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
