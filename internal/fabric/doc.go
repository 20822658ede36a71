// Package fabric carries transfers over the links of the machine and through the
// pseudo-channels of its HBM slices, and says when they arrive.
//
// A transfer is cut into flits. Flit k leaves link i at
//
//	D(i,k) = max(D(i,k-1), A(i,k)) + ser(i)        A(i+1,k) = D(i,k) + latency(i)
//
// where A is its arrival, ser the time it occupies the link and latency the wire
// and the overhead of the node behind it. A source offers a flit when the one
// before has left. A link serves class Comm before Compute and within a class
// first come, first served. Buffers in front of links are unbounded: a router
// never pushes back, so that congestion shows as queueing where it arises.
//
// Two models implement this, with one interface:
//
//   - Flit (flit.go) makes every flit of every hop an event. It is the referee.
//   - Train (train.go), the default, moves trains of flits with one event a hop:
//     at most 64 a message, so that cost grows with messages and hops, not with
//     bytes. Alone on its path a transfer takes exactly the same time in both.
//     A message of one flit that finds its links free goes as an express
//     (express.go): an event a link, or one for two where the network is a Feeder.
//
// formula.go states the time of an uncontended transfer in closed form; the
// models never call it.
//
// The package knows links by number only. It imports internal/sim, topology for
// units and ids, and internal/memory for the channels of HBM.
package fabric
