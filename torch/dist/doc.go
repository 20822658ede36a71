// Package dist is torch.distributed: process groups, their collectives, messages between
// ranks, and objects of the host that travel with them.
//
//	torch.OK(dist.InitProcessGroup(r, "ahbm"))
//	torch.OK(dist.AllReduce(r, x, dist.SUM))
//
// Functions take the rank that calls them first. Under Spawn a rank is a SIP, and each rank
// brings tensors of its own. In a program without Spawn, a rank is a PE and the program drives
// them all: a tensor lies over the PEs of the group, and part i of it is rank i's.
package dist
