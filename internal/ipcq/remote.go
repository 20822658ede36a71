package ipcq

import (
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// The two ends of a ring between SIPs learn of each other's state only after the time that a
// report takes: the receiver, that the sender's earlier accesses have taken effect; the
// sender, at which times credits return. The sender learns of credits when the first of them
// can arrive, so that no message is sent later than within a SIP.

// remote is the state that only a ring between SIPs has.
type remote struct {
	request pe.Remote
	credit  sim.Kind // the other bits of the kind of its evCredit events, which may be due after the ring was removed
	queues  *Queues  // of the sender's thread
	known   uint64   // the value of Ring.read that the sender knows
	loose   bool     // the sender knows that credits may return in any order
	reached uint32   // batches of which the receiver knows
}

// sender returns the Queues of the sender's thread.
func (r *Ring) sender() *Queues {
	if r.remote != nil {
		return r.remote.queues
	}
	return r.queues
}

// report reports the credits whose times have been computed to the sender in another SIP.
func (r *Ring) report() {
	eng, kind := r.queues.eng, evCredit
	if !r.inOrder {
		kind = evCreditLoose
	}
	eng.PostIn(pe.PartitionOf(r.From.DMA.SIP), eng.Now()+r.CreditTime, r.event(kind|r.remote.credit, uint32(r.read)))
}

// learn records that the sender in another SIP knows the times of the credits before fragment
// `read`, of which only the lower 32 bits are given, and wakes it if it waits for one of them.
// inOrder is the value of Ring.inOrder.
func (r *Ring) learn(read uint32, inOrder bool) {
	k := r.remote
	k.loose = !inOrder
	k.known += uint64(read - uint32(k.known))
	if r.wakeAt > 0 && r.wakeAt <= k.known {
		r.From.Proc.Wake()
	}
}

// readKnown returns the number of fragments of whose credits the sender knows the times.
func (r *Ring) readKnown() uint64 {
	if r.remote == nil {
		return r.read
	}
	return r.remote.known
}

// Remote returns what concerns other SIPs of a request that sends a message over the path of
// the ring, or nil within a SIP.
func (r *Ring) Remote() *pe.Remote {
	if r.remote == nil {
		return nil
	}
	return &r.remote.request
}

// Gather lets p, a sender to another SIP, wait until it knows the credits of n fragments, so
// that they travel together, but at most until the time `until`. Within a SIP it does not
// wait, since more credits are known at once.
func (r *Ring) Gather(p *sim.Proc, n int, until simtime.Time) {
	if r.remote == nil || r.SlotFlits == 0 || until <= p.Now() {
		return
	}
	unused := int(max(r.sent, uint64(r.Slots)) - r.sent)
	if need := r.used + uint64(max(0, n-unused)); need > r.readKnown() {
		r.wakeAt = need
		p.SleepUntil(until)
		r.wakeAt = 0
	}
}

// fence delays the visibility of a batch, which is sent to another SIP, if accesses of the
// sender up to place o that do not end in that SIP have not taken effect.
func (r *Ring) fence(seq uint32, o pe.Order) {
	b := r.batch(seq)
	b.writes = r.From.DMA.WritesTo(r.Memory.SIP, o)
	if !r.From.DMA.SettledOutside(o, r.Memory.SIP) {
		b.fenced = true
		r.From.DMA.AfterOutside(o, r.Memory.SIP, r.event(evSettled, seq))
	}
}

// reach records that b, which is batch n and comes from another SIP, has arrived as far as s
// says. It makes the fragments visible that have arrived, when the earlier accesses of the
// sender have taken effect.
func (r *Ring) reach(b *batch, n uint32, s arrivalStage) {
	if b.stage = s; s != underway && int32(n+1-r.remote.reached) > 0 {
		r.remote.reached = n + 1
	}
	landed := r.To.DMA.Remotes
	switch {
	case s == underway || b.fenced || b.held:
	case landed.Landed(b.writes):
		r.show(b)
	default:
		b.held = true
		landed.AfterLanded(b.writes, r.event(evLanded, n))
	}
}

// show makes the fragments of b visible that have arrived.
func (r *Ring) show(b *batch) {
	if b.stage == arriving {
		r.announce(b)
	} else {
		r.makeVisible(b)
	}
}
