// Package host describes the computer that this process runs on: the CPUs that ranks may be
// bound to, and the memory that may still be used. Memory is that of the computer, of a
// control group (v1 or v2) of this process, or of its address space, whichever has the
// least left. Values that cannot be determined are nil or 0.
//
// Code that is about to use much memory calls [Reserve] first. Reservations of one process
// add up: if two consumers fit separately but not together, the second one gets an error.
//
// Outside of the standard library, it imports only golang.org/x/sys/unix.
package host
