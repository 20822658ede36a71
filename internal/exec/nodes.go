package exec

import (
	"fmt"

	"github.com/kernbench/kernbench/oplog"
)

// nodes holds the nodes of operations. With a transient log, it also holds the records of
// the operations, and a node is removed as soon as nothing refers to it.
type nodes struct {
	last      int // number of operations, from the first, that have been added
	live      int // number of nodes that have not been removed
	transient bool

	pages     []*nodePage // by (ID - 1) / pageNodes; nil if all nodes of the page were removed
	freePages []*nodePage
	freeOps   []*oplog.Op
}

// pageNodes is the number of nodes of a page. A page takes as much memory as about 16
// records of operations.
const pageNodes = 128

// nodePage holds the nodes of operations with consecutive IDs.
type nodePage struct {
	nodes [pageNodes]node
	live  int // nodes that were added and not removed
}

// add adds a node for op, which has the next ID.
func (t *nodes) add(op *oplog.Op) {
	i := t.last % pageNodes
	if i == 0 {
		if n := len(t.freePages); n > 0 {
			t.pages, t.freePages = append(t.pages, t.freePages[n-1]), t.freePages[:n-1]
		} else {
			t.pages = append(t.pages, &nodePage{})
		}
	}
	p := t.pages[len(t.pages)-1]
	t.last++
	t.live++
	p.live++
	n := &p.nodes[i]
	*n = node{out: none, exists: true, kind: op.Kind}
	if t.transient {
		if i := len(t.freeOps); i > 0 {
			n.op, t.freeOps = t.freeOps[i-1], t.freeOps[:i-1]
		} else {
			n.op = new(oplog.Op)
		}
		*n.op = *op
		n.effects = effectsOf(op)
	}
}

// remove removes the node of operation id.
func (t *nodes) remove(id oplog.ID) {
	at := int(id-1) / pageNodes
	p := t.pages[at]
	n := &p.nodes[int(id-1)%pageNodes]
	*n = node{out: none} // finish may still look for edges
	t.live--
	if p.live--; p.live == 0 && (at+1)*pageNodes <= t.last {
		t.pages[at] = nil
		t.freePages = append(t.freePages, p)
	}
}

// find returns the node of operation id, or nil if there is none.
func (t *nodes) find(id oplog.ID) *node {
	if id < 1 || int(id) > t.last {
		return nil
	}
	if p := t.pages[(id-1)/pageNodes]; p != nil && p.nodes[(id-1)%pageNodes].exists {
		return &p.nodes[(id-1)%pageNodes]
	}
	return nil
}

// effectsOf returns the number of effects that op has in the log.
func effectsOf(op *oplog.Op) int8 {
	switch op.Kind {
	case oplog.Load, oplog.Get, oplog.HostRead, oplog.Store, oplog.Put, oplog.HostWrite, oplog.Scratch, oplog.Zero:
		return 1
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		return 2
	case oplog.Send:
		return int8(min(1, len(op.Args[0].Mem)))
	case oplog.Recv:
		return int8(min(1, len(op.Mem)))
	}
	return 0
}

// node returns the node of operation id, which must exist.
func (e *Executor) node(id oplog.ID) *node {
	return &e.nodes.pages[(id-1)/pageNodes].nodes[(id-1)%pageNodes]
}

// op returns the record of operation id, whose node must exist and must not have retired.
func (e *Executor) op(id oplog.ID) *oplog.Op {
	if op := e.node(id).op; op != nil {
		return op
	}
	return e.log.Op(id)
}

// describe returns the text by which errors name operation id.
func (e *Executor) describe(id oplog.ID) string {
	if !e.nodes.transient {
		return e.log.Describe(id)
	}
	switch n := e.nodes.find(id); {
	case n == nil:
		return fmt.Sprintf("operation %d", id)
	case n.op == nil:
		return fmt.Sprintf("operation %d (%v)", id, n.kind)
	default:
		return new(oplog.Log).DescribeOp(n.op)
	}
}

// retire frees the record of operation id if the operation has been computed and its
// effects were applied. It also removes the node if the value was dropped.
func (e *Executor) retire(id oplog.ID) {
	if !e.nodes.transient || int(id) > e.active {
		return
	}
	n := e.nodes.find(id)
	if n == nil || n.effects > 0 || n.out != none || hasValue[n.kind] && !n.done {
		return
	}
	if n.op != nil {
		*n.op = oplog.Op{}
		e.nodes.freeOps = append(e.nodes.freeOps, n.op)
		n.op = nil
	}
	if !n.held && n.uses == 0 && n.value == nil {
		e.nodes.remove(id)
	}
}
