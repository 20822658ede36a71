// Package host describes the computer that this process runs on: the CPUs that ranks may
// be bound to, and the memory that may still be used. Memory is that of the computer or
// of a control group (v1 or v2) that this process is in, whichever has less left. What
// cannot be found out is nil or 0.
//
// Whatever is about to use much memory asks [Reserve] first. Reservations of one process
// add up, so that two consumers that fit alone and not together are told so.
//
// It imports golang.org/x/sys/unix alone.
package host
