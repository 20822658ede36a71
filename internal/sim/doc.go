// Package sim is the event engine: an integer clock, an event queue that does not
// allocate, coroutine processes, and servers that processes queue for.
//
// Two kinds of code run on the clock. A hardware model is a plain struct that implements
// Handler: the engine calls Handle at the times for which the model scheduled events. A
// kernel or a host worker is a process: sequential code that sleeps, waits and is woken.
// A process runs as a coroutine on the engine's goroutine.
//
//	eng := sim.New()
//	defer eng.Close()
//	var ready sim.Cond
//	eng.Go("producer", func(p *sim.Proc) { p.Sleep(5 * simtime.Nanosecond); ready.Broadcast() })
//	eng.Go("consumer", func(p *sim.Proc) { p.Wait(&ready) })
//	err := eng.Run(ctx)
//
// # Order
//
// Events run in order of time. Events at the same time run in the order in which they
// were scheduled; timers fire after the events of their instant. Map order, goroutine
// scheduling and the wall clock have no influence. One engine is single-threaded;
// independent engines may run in parallel.
//
// # The end of a run
//
// Run returns when no event is left. If processes still wait, nothing can wake them, and
// Run returns a *Deadlock that names each process and what it waits for. If a process
// panics, Run finishes the current instant and returns a *PanicError. If the engine has a
// limit and events are left at the limit, Run returns a *TimeLimit. When Run returns an
// error, and on Close, the remaining processes unwind through their deferred calls and
// their goroutines end.
//
// The package does not depend on the simulated machine.
package sim
