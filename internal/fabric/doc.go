// Package fabric computes when transfers arrive: over the links of the machine and through
// the pseudo-channels of its HBM slices.
//
// A transfer is cut into flits. Flit k leaves link i at D(i,k):
//
//	D(i,k) = max(D(i,k-1), A(i,k)) + ser(i)        A(i+1,k) = D(i,k) + latency(i)
//
// A is the arrival of the flit, ser the time for which it occupies the link, and latency
// the wire delay plus the overhead of the node behind the link. A source offers a flit when
// the previous flit has left. A link serves class Comm before Compute, first come, first
// served within a class. Buffers in front of links are unbounded: there is no
// back-pressure, so congestion shows as queueing where it arises.
//
// Two models implement this interface:
//
//   - Flit (flit.go) uses one event per flit and hop. It is the reference.
//   - Train (train.go), the default, moves trains of flits with one event per hop. A
//     message is one train until it competes with another message (serve.go). Then it is
//     served together with the other message (round.go), or cut into a bounded number of
//     trains (cut.go), so the number of events grows with messages and hops, not with bytes.
//     At links that cannot delay it, a train takes no event (skip.go). A transfer without
//     other traffic takes exactly the same time in both models. A single-flit message
//     (singleflit.go) takes one event for its whole path while the links are idle.
//
// formula.go has the time of an uncontended transfer in closed form; the models never call
// it.
//
// The package identifies links only by number. It imports internal/sim, topology for units
// and ids, and internal/memory for the channels of HBM.
package fabric
