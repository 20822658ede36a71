// Package simtime defines simulated time: an integer number of femtoseconds that formats
// and parses exactly.
//
// The simulator, results and traces all use this type, so a program can add and compare
// their times without rounding. The package imports only the standard library.
package simtime
