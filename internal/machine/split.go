package machine

import (
	"slices"

	"github.com/kernbench/kernbench/internal/sim"
)

// densePartition is launcher.dense. With fewer events in a window, the windows would cost more
// than they gain.
const densePartition = 16

// split lets the SIPs simulate launch l by themselves, window by window, unless something
// else is in progress or the launch has few targets in each SIP.
func (lr *launcher) split(l *Launch) {
	m := lr.machine
	running, dense := lr.perPartition(l)
	if !dense || !l.partitions || lr.all.Len() > 1 || !m.Fabric.Idle() || m.Engine.Current() != 0 {
		return
	}
	lr.running, l.left = l, make([][]int32, len(m.Engine.Threads()))
	m.Fabric.Settle()
	m.Engine.Split(running, sim.Event{Target: lr.target, Kind: evEnded, Arg: uint64(l.number) << 32})
}

// perPartition returns the number of targets of a launch in each partition, and whether they are
// many enough in each SIP that SIPs can be simulated by themselves.
func (lr *launcher) perPartition(l *Launch) (targets []int32, dense bool) {
	m := lr.machine
	if m.Engine.Lookahead() == 0 {
		return nil, false
	}
	targets, used := make([]int32, m.Graph.Spec().System.SIPs.Count+1), 0
	for _, id := range l.Targets {
		part := partitionOf(m.PE(id))
		if targets[part] == 0 {
			used++
		}
		targets[part]++
	}
	return targets, used > 1 && len(l.Targets) >= lr.dense*used
}

// join ends the simulation of SIPs by themselves: the host acts on the machine.
func (lr *launcher) join() {
	if lr.machine.Engine.IsSplit() {
		lr.machine.Engine.Join()
		lr.endSplit()
	}
}

// endSplit ends the targets whose kernels ended while SIPs were simulated by themselves.
func (lr *launcher) endSplit() {
	l := lr.running
	left := slices.Concat(l.left...)
	slices.Sort(left)
	for _, i := range left {
		lr.leaveTarget(l, int(i))
	}
	lr.running, l.left = nil, nil
}
