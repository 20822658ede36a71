// Package bound computes a lower bound on the time of a collective: a time that no
// algorithm can beat on a system.
//
// [Compute] returns the largest of three kinds of terms. Cuts and volume are bounds on what
// a region must exchange with the rest of the system over the links at its edge
// (region.go). Latency is the time of the fastest path between two ranks, one of which
// needs data of the other (latency.go). demand.go has the data that a collective must move,
// and capacity.go the bandwidth of a set of links. The terms are closed forms of a compiled
// topology and a [ccl.Plan]. Nothing is simulated, and no algorithm is consulted.
//
// The package imports ccl, topology and simtime.
package bound
