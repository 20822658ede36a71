// Package sim is the event engine: an integer clock, a queue of events without
// allocation, coroutine processes, and the servers and resources they queue for.
//
// Two kinds of thing live on the clock. A hardware model is a plain struct that
// implements Handler: the engine calls it back at the instants it asked for. A
// kernel or a host worker is a process: ordinary sequential code that sleeps,
// waits and is woken, run as a coroutine on the engine's own goroutine.
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
// Events run in order of time and, at the same time, in the order in which they
// were scheduled; timers ring after the events of their instant. Nothing else
// decides: no map order, no goroutine, no wall clock. One engine is single-threaded; independent engines may run on as many
// goroutines as there are cores.
//
// # The end of a run
//
// Run returns when no event is left. If processes still wait then, nothing can
// ever wake them and Run returns a *Deadlock that names each of them and what it
// waits for. A process that panics ends the run with a *PanicError, after the
// instant in which it does, one that never ends with a *TimeLimit if the engine
// has a limit. Whenever Run
// returns an error, and on Close, the processes that are left unwind through
// their deferred calls and their goroutines are gone.
//
// The package imports nothing of the project and knows nothing of the machine.
package sim
