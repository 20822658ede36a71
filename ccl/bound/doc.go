// Package bound computes a lower bound on the time of a collective: a time that no
// algorithm can beat on a system.
//
// [Compute] returns the largest of three kinds of terms: cuts and volume (region.go: what a
// region has to exchange with its surroundings, over the links at its edge) and latency
// (latency.go: the fastest path between two ranks, one of which needs data of the other).
// What a collective has to move is in demand.go, and the bandwidth of a set of links in
// capacity.go. The terms are closed forms of a compiled topology and a [ccl.Plan]. Nothing is
// simulated, and no algorithm is consulted.
//
// The package imports ccl, topology and simtime.
package bound
