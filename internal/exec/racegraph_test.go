package exec

import (
	"math/rand/v2"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// randomAccesses returns a random log of n operations of a few PEs. The operations access
// memory or order the accesses of other operations.
func randomAccesses(r *rand.Rand, n int) *oplog.Log {
	const pes = 4
	log := &oplog.Log{}
	for range 3 {
		var pes []int32
		for pe := range int32(4) {
			if r.IntN(2) == 0 {
				pes = append(pes, pe)
			}
		}
		log.Launches = append(log.Launches, oplog.Launch{PEs: pes})
	}
	mem := func() []oplog.Access {
		rows, bytes := 1+r.Int64N(3), 1+r.Int64N(4)
		return []oplog.Access{{
			Space: oplog.Space{Kind: oplog.HBM, PE: r.Int32N(2)}, Addr: pageBytes - 20 + r.Int64N(30),
			Rows: rows, RowBytes: bytes, Stride: r.Int64N(12) - 3,
		}}
	}
	var launch [pes]int32
	var async [pes][]oplog.ID // operations that a Wait may name
	var sent, notified, taskEnds []oplog.ID
	var unsent []oplog.ID // receives without a send
	fewLines := r.IntN(2) == 0
	for len(log.Ops) < n {
		pe := r.Int32N(pes)
		op := oplog.Op{PE: pe, Launch: launch[pe]}
		id := oplog.ID(len(log.Ops) + 1)
		switch kind := r.IntN(22); {
		case kind < 3:
			op.Kind, op.Mem = oplog.Load, mem()
		case kind < 6:
			op.Kind, op.Mem = oplog.Store, mem()
		case kind < 8:
			op.Kind, op.Args, op.Mem = oplog.Gemm, []oplog.Operand{{Mem: mem()}}, mem()
			async[pe] = append(async[pe], id)
		case kind < 11:
			op.Kind, op.Args = oplog.Send, make([]oplog.Operand, 1)
			if r.IntN(3) == 0 {
				op.Args[0].Mem = mem()
			}
			if len(unsent) > 0 {
				log.Op(unsent[0]).Args[0].From = id
				unsent = unsent[1:]
			} else {
				sent = append(sent, id)
			}
		case kind < 14:
			op.Kind, op.Args = oplog.Recv, make([]oplog.Operand, 1)
			if r.IntN(3) == 0 {
				op.Mem = mem()
			}
			if len(sent) > 0 {
				op.Args[0].From, sent = sent[0], sent[1:]
			} else if r.IntN(3) == 0 {
				unsent = append(unsent, id)
			} else {
				continue
			}
			async[pe] = append(async[pe], id)
		case kind < 16 && len(async[pe]) > 0:
			i := r.IntN(len(async[pe]))
			op.Kind, op.Args = oplog.Wait, []oplog.Operand{{From: async[pe][i]}}
			async[pe] = append(async[pe][:i], async[pe][i+1:]...)
		case kind == 16:
			op.Kind = oplog.Notify
			notified = append(notified, id)
		case kind == 17 && len(notified) > 0:
			op.Kind = oplog.WaitSignal
			for _, from := range notified {
				op.Args = append(op.Args, oplog.Operand{From: from})
			}
			if r.IntN(2) == 0 {
				notified = nil
			}
		case kind == 20:
			op.Kind = oplog.TaskEnd
			taskEnds = append(taskEnds, id)
		case kind == 21 && len(taskEnds) > 0:
			op.Kind = oplog.TaskBegin
			for range 1 + r.IntN(2) {
				op.Args = append(op.Args, oplog.Operand{From: taskEnds[r.IntN(len(taskEnds))]})
			}
		case kind == 18 && r.IntN(3) == 0:
			op.Kind = oplog.Scratch
			op.Mem = []oplog.Access{{Space: oplog.Space{Kind: oplog.HBM}, Addr: pageBytes - 4, Rows: 1, RowBytes: 8}}
		case kind == 19 && r.IntN(6) == 0:
			op.Kind, op.PE, op.Launch = oplog.Barrier, -1, -1
		case kind == 19 && launch[pe] < 2:
			next := launch[pe] + 1
			busy := func(p int32) bool { // the PE waits for a message, or has passed this launch
				return launch[p] >= next || slices.ContainsFunc(unsent, func(id oplog.ID) bool { return log.Op(id).PE == p })
			}
			if slices.ContainsFunc(log.Launches[next].PEs, busy) {
				continue
			}
			for _, p := range log.Launches[next].PEs {
				launch[p] = next
			}
			continue
		default:
			continue
		}
		op.Line = int32(id)
		if fewLines {
			op.Line = int32(r.IntN(5))
		}
		log.Add(op)
	}
	return log
}

// graph is a happens-before graph. Its nodes are the issue of each operation and the
// accesses of asynchronous ones.
type graph struct {
	log   *oplog.Log
	nodes []graphNode
	after [][]int // edges to later nodes
	issue []int   // by ID - 1: the issue of the operation
	read  []int   // by ID - 1: the read of a composite; otherwise the issue
	write []int   // by ID - 1: the write of a composite, or the end of a wait; otherwise the issue

	launches []launchNode // launches that have begun
}

// launchNode is the common start of the PEs of a launch.
type launchNode struct {
	pes  map[int32]bool
	node int
}

// graphNode is the issue of an operation, or an access of an asynchronous one.
type graphNode struct {
	op      *oplog.Op
	mem     []oplog.Access
	isWrite bool
	when    oplog.ID // the last operation that is issued before the node can happen
}

func (g *graph) addNode(n graphNode) int {
	g.nodes, g.after = append(g.nodes, n), append(g.after, nil)
	return len(g.nodes) - 1
}

func (g *graph) addEdge(a, b int) { g.after[a] = append(g.after[a], b) }

// waits reports whether operations of kind k wait for operations of other PEs.
func waits(k oplog.Kind) bool {
	return k == oplog.Recv || k == oplog.WaitSignal || k == oplog.TaskBegin
}

// lastCause returns the latest of the sends, notifications and task ends that op waits for,
// or 0 if op waits for none.
func lastCause(op *oplog.Op) (id oplog.ID) {
	if waits(op.Kind) {
		for _, o := range op.Args {
			id = max(id, o.From)
		}
	}
	return id
}

// findRaces builds the happens-before graph of the log and returns the pairs of source
// lines that have a race.
func findRaces(log *oplog.Log) map[[2]int32]bool {
	g := &graph{log: log}
	for i := range log.Ops {
		g.addNodes(&log.Ops[i])
	}
	for i := range log.Ops {
		g.addEdges(&log.Ops[i])
	}
	found := map[[2]int32]bool{}
	for a := range g.nodes {
		reach := g.reach(a)
		for b := range g.nodes {
			if !reach[b] && g.conflict(a, b) && !g.reach(b)[a] {
				x, y := g.nodes[a].op.Line, g.nodes[b].op.Line
				found[[2]int32{min(x, y), max(x, y)}] = true
			}
		}
	}
	return found
}

// addNodes adds the nodes of op to the graph: its issue and, if it is asynchronous, its
// accesses.
func (g *graph) addNodes(op *oplog.Op) {
	n := graphNode{op: op, when: op.ID}
	switch op.Kind {
	case oplog.Load:
		n.mem = op.Mem
	case oplog.Store, oplog.Scratch:
		n.mem, n.isWrite = op.Mem, true
	case oplog.Send:
		n.mem = op.Args[0].Mem
	}
	issue := g.addNode(n)
	read, write := issue, issue
	if op.Kind == oplog.Gemm {
		read = g.addNode(graphNode{op, op.Args[0].Mem, false, op.ID})
		write = g.addNode(graphNode{op, op.Mem, true, op.ID})
		g.addEdge(issue, read)
		g.addEdge(read, write)
	}
	if waits(op.Kind) {
		n := graphNode{op, op.Mem, true, max(op.ID, lastCause(op))}
		if lastCause(op) == 0 {
			n.mem = nil // no message came
		}
		write = g.addNode(n)
		g.addEdge(issue, write)
	}
	g.issue, g.read, g.write = append(g.issue, issue), append(g.read, read), append(g.write, write)
}

// addEdges adds all edges that end at a node of op.
func (g *graph) addEdges(op *oplog.Op) {
	i := int(op.ID) - 1
	if waits(op.Kind) {
		for _, o := range op.Args {
			if o.From > 0 {
				g.addEdge(g.issue[o.From-1], g.write[i])
			}
		}
	}
	if g.isFirst(op) {
		g.addLaunch(op)
	}
	for _, l := range g.launches {
		if l.pes[op.PE] || op.Kind == oplog.Barrier {
			g.addEdge(l.node, g.issue[i])
		}
	}
	var next *oplog.Op // the operation of the same PE that follows b, nil if that is op
	for j := i - 1; j >= 0; j-- {
		b := &g.log.Ops[j]
		ended := lastCause(b) < op.ID && (b.Kind != oplog.Recv || b.Args[0].From > 0)
		switch {
		case op.Kind == oplog.Barrier || b.Kind == oplog.Barrier:
			g.addEdge(g.issue[j], g.issue[i])
			if ended {
				g.addEdge(g.write[j], g.issue[i])
			}
		case b.PE != op.PE:
			continue
		}
		if b.PE != op.PE {
			continue
		}
		g.addEdge(g.issue[j], g.issue[i])
		if ended && (names(op, b.ID) || next == nil && g.blocks(b) || op.Kind == oplog.TaskEnd) {
			g.addEdge(g.write[j], g.issue[i])
		}
		next = b
		g.addHardwareOrder(b, op)
	}
}

// isFirst reports whether op is the first operation of its launch, not counting barriers.
func (g *graph) isFirst(op *oplog.Op) bool {
	for i := range g.log.Ops[:op.ID-1] {
		if b := &g.log.Ops[i]; b.Launch == op.Launch && b.Kind != oplog.Barrier {
			return false
		}
	}
	return op.Kind != oplog.Barrier
}

// addLaunch adds a node for the common start of the launch whose first operation is op. The
// node comes after everything that the PEs of the launch did before, and after the earlier
// launches on these PEs.
func (g *graph) addLaunch(op *oplog.Op) {
	l := launchNode{map[int32]bool{}, g.addNode(graphNode{op: op})}
	for _, pe := range g.log.Launches[op.Launch].PEs {
		l.pes[pe] = true
	}
	for i := range g.log.Ops[:op.ID-1] {
		b := &g.log.Ops[i]
		if !l.pes[b.PE] && b.Kind != oplog.Barrier {
			continue
		}
		g.addEdge(g.issue[i], l.node)
		if lastCause(b) < op.ID {
			g.addEdge(g.write[i], l.node)
		}
	}
	for _, other := range g.launches {
		for pe := range l.pes {
			if other.pes[pe] {
				g.addEdge(other.node, l.node)
			}
		}
	}
	g.launches = append(g.launches, l)
}

// blocks reports whether the PE of op does nothing else until op has ended.
func (g *graph) blocks(op *oplog.Op) bool {
	switch op.Kind {
	case oplog.WaitSignal, oplog.TaskBegin:
		return true
	case oplog.Recv:
		for i := range g.log.Ops {
			if g.log.Ops[i].Kind == oplog.Wait && names(&g.log.Ops[i], op.ID) {
				return false
			}
		}
		return true
	}
	return false
}

// names reports whether id is an operand of op.
func names(op *oplog.Op, id oplog.ID) bool {
	for _, o := range op.Args {
		if o.From == id {
			return true
		}
	}
	return false
}

// addHardwareOrder adds edges from accesses of the operation `first` to overlapping
// accesses of `second`, a later operation on the same PE. The hardware keeps this order if
// `first` is asynchronous.
func (g *graph) addHardwareOrder(first, second *oplog.Op) {
	for _, a := range []int{g.read[first.ID-1], g.write[first.ID-1]} {
		for _, b := range []int{g.issue[second.ID-1], g.read[second.ID-1], g.write[second.ID-1]} {
			if g.nodes[a].when < max(second.ID, g.nodes[b].when) && g.overlap(a, b) {
				g.addEdge(a, b)
			}
		}
	}
}

// reach returns a slice that says for each node of the graph whether a path leads to it
// from the given node.
func (g *graph) reach(from int) []bool {
	seen := make([]bool, len(g.nodes))
	work := []int{from}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		work = append(work, g.after[at]...)
	}
	return seen
}

// conflict reports whether nodes a and b belong to different PEs and touch a common byte,
// which at least one of them writes.
func (g *graph) conflict(a, b int) bool {
	return g.nodes[a].op.PE != g.nodes[b].op.PE && g.overlap(a, b)
}

// overlap reports whether nodes a and b touch a common byte that at least one of them
// writes. A byte that became new scratch memory between the two nodes does not count.
func (g *graph) overlap(a, b int) bool {
	if !g.nodes[a].isWrite && !g.nodes[b].isWrite {
		return false
	}
	shared := g.bytes(a)
	for byte := range g.bytes(b) {
		if shared[byte] && !g.renewed(byte, g.nodes[a].when, g.nodes[b].when) {
			return true
		}
	}
	return false
}

type location struct {
	space oplog.Space
	addr  int64
}

// bytes returns the set of all bytes that node n reads or writes.
func (g *graph) bytes(n int) map[location]bool {
	all := map[location]bool{}
	for _, a := range g.nodes[n].mem {
		for row := range a.Rows {
			for i := range a.RowBytes {
				all[location{a.Space, a.Addr + row*a.Stride + i}] = true
			}
		}
	}
	return all
}

// renewed reports whether the byte at the given location became new scratch memory between
// operations a and b.
func (g *graph) renewed(at location, a, b oplog.ID) bool {
	for i := range g.log.Ops {
		op := &g.log.Ops[i]
		if op.Kind != oplog.Scratch || op.ID <= min(a, b) || op.ID > max(a, b) {
			continue
		}
		if g.bytes(g.issue[i])[at] {
			return true
		}
	}
	return false
}
