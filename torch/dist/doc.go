// Package dist is torch.distributed: process groups, their collectives, messages between
// ranks, and objects of the host that travel with them.
//
//	torch.OK(dist.InitProcessGroup(r, "ahbm"))
//	torch.OK(dist.AllReduce(r, x, dist.SUM))
//
// Functions take the rank that calls them first. Under Spawn a rank is a SIP, and each rank
// brings tensors of its own. In a program without Spawn, a rank is a PE and the program drives
// them all: a tensor lies over the PEs of the group, and part i of it is rank i's.
//
// Each rank's call of a collective (distributed.go) becomes a request (request.go). The call is
// complete when all ranks of the group have made it (group.go, call.go). It is cut into lanes of
// PEs that hold the same shard (lanes.go), and becomes one program of an algorithm of package ccl
// (planned.go). Messages between two ranks are matched (p2p.go, anysource.go) and run side by
// side (exchange.go). Several collectives may be one (coalesced.go), and kernels may run beside
// one (making.go). When an operation begins is for package internal/stream to decide.
package dist
