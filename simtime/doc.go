// Package simtime has simulated time: an integer of femtoseconds, with exact text.
//
// Times of the simulator, of results and of traces are of this one type, so that a
// program can add and compare them without rounding. The package imports the standard
// library alone.
package simtime
