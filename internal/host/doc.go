// Package host tells of the computer that real ranks run on: which CPUs they may be
// bound to, and how much memory there is. What cannot be found out is nil or 0.
//
// It imports golang.org/x/sys/unix alone.
package host
