package ipcq

import (
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// batch is a sequence of fragments of one message that one transfer carries. The fragments
// have numbers: fragment n of the ring is in slot n mod Slots. The fields of the first block,
// which take one cache line, are all that the receiver of a short message needs.
type batch struct {
	ID      oplog.ID     // as the fields of the Message with the same names
	message memory.Bytes // the size of the message
	after   pe.Order
	first   uint64 // number of the first fragment
	bytes   memory.Bytes
	since   simtime.Time
	count   int32 // number of fragments
	// known is the number of fragments of which it is known when they are visible: at the
	// times of arrival, but not before since. If all are known, all have arrived.
	known  int32
	dtype  numeric.DType
	begins bool // has the first fragment of the message
	ends   bool // has the last fragment of the message
	calls  bool // arrived is set
	fenced bool // the sender is in another SIP and has not reported that its earlier accesses have taken effect
	held   bool // has arrived in part, and waits for earlier writes of the sender to this SIP
	stage  arrivalStage

	shape   oplog.Shape
	arrived sim.Event // called when the batch is in its slots
	write   sim.Mark  // the transfer in a trace; 0 if it has no bytes, and without a trace
	arrival fabric.Arrival
	stream  pe.CopyStream // the copies of fragments that have not arrived
	by      sim.Mark      // the activity that the sender's report is about, in a trace
	writes  pe.Writes     // earlier writes of a sender in another SIP to this SIP
}

// arrivalStage says how much of a batch has arrived. It is set only for batches from other
// SIPs.
type arrivalStage uint8

const (
	underway arrivalStage = iota
	arriving              // the first fragment is in its slot
	arrived               // the last byte is in its slot
)

// batchFIFO is a queue of batches that reuses its space. A sim.FIFO would copy each batch
// twice.
type batchFIFO struct {
	items []batch
	head  int    // index of the first batch
	added uint32 // batches that were added so far
	fixed bool   // batch n is at index n mod len(items), which suffices for all batches
}

// batch returns the batch with number n, counted over all batches of the ring. The pointer is
// valid until the next batch is added.
func (r *Ring) batch(n uint32) *batch {
	q := &r.batches
	if q.fixed {
		return &q.items[n%uint32(len(q.items))]
	}
	return &q.items[q.head+int(n-r.popped)]
}

// add adds a batch at the end and returns it. Its fields are zero or those of an earlier
// batch whose messages are visible, so that its stream is not open.
func (q *batchFIFO) add() *batch {
	q.added++
	if q.fixed {
		return &q.items[(q.added-1)%uint32(len(q.items))]
	}
	n := len(q.items)
	if n == cap(q.items) {
		n = copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.head = 0
		if n == cap(q.items) {
			q.items = append(q.items, batch{})
		}
	}
	q.items = q.items[:n+1]
	return &q.items[n]
}

// pop removes the first batch.
func (q *batchFIFO) pop() {
	if q.fixed {
		return
	}
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
}
