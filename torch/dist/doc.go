// Package dist is torch.distributed: process groups, collectives, messages between ranks,
// and the exchange of objects (Go values of the host).
//
//	torch.OK(dist.InitProcessGroup(r, "ahbm"))
//	torch.OK(dist.AllReduce(r, x, dist.SUM))
//
// Functions take the rank that calls them as their first argument. Under Spawn, a rank is a
// SIP, and each rank passes its own tensors. In a program without Spawn, a rank is a PE,
// and the program makes each call once for all ranks: a tensor is divided over the PEs of
// the group, and part i belongs to rank i.
//
// A rank's call of a collective (distributed.go) becomes a request (request.go). The call
// is complete when all ranks of the group have made it (group.go, call.go). It is divided
// into lanes of PEs that hold the same shard (lanes.go) and becomes one launch, which runs
// an algorithm of package ccl (launchplan.go). The two ends of a message are matched
// (p2p.go, anysource.go), and messages that begin at the same time run together
// (exchange.go). Several collectives can be coalesced into one (coalesced.go), and a kernel
// can compute while a collective reduces its results (making.go). Package internal/stream
// decides when an operation begins.
package dist
