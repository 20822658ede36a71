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
	known   uint64   // the value of Ring.read that the sender knows
	credit  sim.Kind // kind of its evCredit events, which may be due after the ring was removed
}

// report reports the credits whose times have been computed to the sender in another SIP.
func (r *Ring) report() {
	eng := r.queues.eng
	eng.PostIn(pe.PartitionOf(r.From.DMA.SIP), eng.Now()+r.CreditTime, r.event(r.remote.credit, uint32(r.read)))
}

// learn records that the sender in another SIP knows the times of the credits before fragment
// `read`, of which only the lower 32 bits are given, and wakes it if it waits for one of them.
func (r *Ring) learn(read uint32) {
	k := r.remote
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
	if r.remote == nil || r.SlotFlits == 0 || until <= r.queues.eng.Now() {
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
	if !r.From.DMA.SettledOutside(o, r.Memory.SIP) {
		r.batches.At(int(seq - r.popped)).fenced = true
		r.From.DMA.AfterOutside(o, r.Memory.SIP, r.event(evSettled, seq))
	}
}

// reach records that b, which is batch n and comes from another SIP, has arrived as far as s
// says. It makes the fragments visible that have arrived, when the earlier accesses of the
// sender have taken effect.
func (r *Ring) reach(b *batch, n uint32, s arrivalStage) {
	b.stage = s
	switch {
	case s == underway || b.fenced || b.held:
	case r.From.DMA.Landed(b.after, r.Memory.SIP):
		r.show(b)
	default:
		b.held = true
		r.From.DMA.AfterLanded(b.after, r.Memory.SIP, r.Way, r.event(evLanded, n))
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
