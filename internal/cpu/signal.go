package cpu

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// signal is a counter at a PE that other PEs change. All ranks whose home is that PE see a
// change at the same instant: the signals of a device are one set of registers.
type signal struct {
	value   int64
	barrier tl.Barrier
	from    []oplog.Operand // for the log: the last notification of each PE, the latest at the end
}

// maxSignals is the maximum number of signals of a PE.
const maxSignals = 1 << 16

// notification is a change of a signal that is in flight.
type notification struct {
	from   *Element
	to     *Element
	signal int
	op     tl.SignalOp
	value  int64
	id     oplog.ID
	order  pe.Order // the sender's last access before the notification

	// Between SIPs:
	way     simtime.Time // how long a report of the sender takes; 0 within a SIP
	writes  pe.Writes    // earlier writes of the sender to the SIP of the PE
	fenced  bool         // the sender has not reported that its earlier accesses have taken effect
	arrived bool
	by      sim.Mark // the activity that the report is about, in a trace
}

// Notify sends a notification to a peer. When it arrives, it adds `value` to a signal of
// the peer, or sets the signal to `value`, as op says.
func (c *Core) Notify(peer, number int, op tl.SignalOp, value int64) error {
	if err := c.tick(); err != nil {
		return err
	}
	if err := checkSignal(number); err != nil {
		return err
	}
	to := c.launch.Home(peer)
	c.path = c.m.Route(c.path[:0], c.pe.Memory(topology.KindTCM), to.Memory(topology.KindTCM))
	n := notification{from: c.pe, to: to, signal: number, op: op, value: value, order: c.pe.DMA.LastOrder()}
	if c.m.Log.Kept() {
		rec := c.newRecord(oplog.Notify)
		rec.Peer, rec.Signal = int32(to.ID), int32(number)
		n.id = c.m.Log.Add(rec)
	}
	r := pe.Request{
		Op: memory.Write, Class: fabric.Comm, Path: c.path, Bytes: c.m.Graph.Spec().PE.IPCQ.CreditBytes, Unordered: true,
		At: c.arrival(), Purpose: pe.Notify,
		Remote: c.m.Remote(memory.Write, c.pe.Memory(topology.KindTCM), to.Memory(topology.KindTCM), c.path),
	}
	if r.Remote != nil {
		n.way, n.fenced = c.m.ControlTime(c.path), !c.pe.DMA.SettledOutside(n.order, int32(to.SIP))
		n.writes = c.pe.DMA.WritesTo(int32(to.SIP), n.order)
	}
	i := uint64(c.m.notifications.Add(n))
	if n.fenced {
		c.pe.DMA.AfterOutside(n.order, int32(to.SIP), c.m.event(evSettled, i))
	}
	r.Done = c.m.event(evNotified, i)
	c.pe.DMA.Submit(&r)
	return nil
}

func checkSignal(number int) error {
	if number < 0 || number >= maxSignals {
		return fmt.Errorf("no signal %d: a PE has 0 to %d", number, maxSignals-1)
	}
	return nil
}

// notifyRemote applies notification number i, which is n and comes from another SIP, if it has
// arrived and all earlier accesses of its sender have taken effect.
func (m *System) notifyRemote(n *notification, i uint64) {
	switch {
	case !n.arrived || n.fenced:
	case n.to.DMA.Remotes.Landed(n.writes):
		m.notify(m.notifications.Take(int32(i)))
	default:
		n.to.DMA.Remotes.AfterLanded(n.writes, m.event(evApplied, i))
	}
}

// notify applies a notification: it changes the signal and wakes the processes that wait
// for a signal of the PE.
func (m *System) notify(n notification) {
	s := n.to.signal(n.signal)
	if n.op == tl.Add {
		s.value += n.value
	} else {
		s.value = n.value
	}
	if n.id != 0 {
		op := m.Log.Op(n.id)
		// The notifications of one PE arrive in program order, so the last one replaces
		// the earlier ones.
		s.from = slices.DeleteFunc(s.from, func(o oplog.Operand) bool { return m.Log.Op(o.From).PE == op.PE })
		s.from = append(s.from, oplog.Operand{From: n.id})
		op.Start, op.End = m.Engine.Now(), m.Engine.Now()
	}
	for _, p := range n.to.listeners {
		p.Wake()
	}
}

// signal returns a signal of the PE. Its value is 0 before the first notification.
func (p *Element) signal(number int) *signal {
	if p.signals == nil {
		p.signals = map[int]*signal{}
	}
	if p.signals[number] == nil {
		p.signals[number] = &signal{}
	}
	return p.signals[number]
}

// listen lets changes of the PE's signals wake a process, until unlisten is called.
func (p *Element) listen(proc *sim.Proc) {
	if !slices.Contains(p.listeners, proc) {
		p.listeners = append(p.listeners, proc)
	}
}

func (p *Element) unlisten(proc *sim.Proc) {
	if i := slices.Index(p.listeners, proc); i >= 0 {
		p.listeners = slices.Delete(p.listeners, i, i+1)
	}
}

// awaited is the condition that WaitSignal waits for.
type awaited struct {
	number int
	cmp    tl.Cmp
	value  int64
}

func (a *awaited) String() string { return fmt.Sprintf("signal %d %v %d", a.number, a.cmp, a.value) }

// WaitSignal waits until the comparison of a signal with a value holds.
func (c *Core) WaitSignal(number int, cmp tl.Cmp, value int64) error {
	holds, err := c.TestSignal(number, cmp, value)
	if err != nil || holds {
		return err
	}
	s, began := c.home.signal(number), c.now
	for !cmp.Holds(s.value, value) {
		c.home.listen(c.proc)
		c.awaits = awaited{number, cmp, value}
		c.proc.ParkFrom(&c.awaits, c.now)
		c.home.unlisten(c.proc)
		c.catchUp()
	}
	c.recordWait("signal", began, c.proc.Woken)
	c.recordSignal(number, s)
	return nil
}

// Barrier returns the state of the barrier that uses the given signal.
func (c *Core) Barrier(number int) *tl.Barrier { return &c.home.signal(number).barrier }

// TestSignal reports whether the comparison of a signal with a value holds now.
func (c *Core) TestSignal(number int, cmp tl.Cmp, value int64) (bool, error) {
	if err := c.tick(); err != nil {
		return false, err
	}
	if err := checkSignal(number); err != nil {
		return false, err
	}
	c.syncToPoll()
	s := c.home.signal(number)
	holds := cmp.Holds(s.value, value)
	if holds {
		c.recordSignal(number, s)
	}
	return holds, nil
}

// syncToPoll waits until the simulation engine has reached the CPU's time. An operation
// that a kernel may repeat in a loop calls syncToPoll before it reads the state of other
// PEs. syncToPoll lets other processes run even if the operation takes no time.
func (c *Core) syncToPoll() {
	c.eng.Beat()
	c.sync()
	if c.dispatch == 0 {
		c.proc.SleepUntil(c.now) // let other processes run at this instant
	}
}

// recordSignal records in the op log that the kernel continues because of a signal.
func (c *Core) recordSignal(number int, s *signal) {
	if !c.m.Log.Kept() {
		return
	}
	op := c.newRecord(oplog.WaitSignal)
	op.Signal, op.Args = int32(number), append([]oplog.Operand(nil), s.from...)
	op.Start, op.End = c.now, c.now
	if len(s.from) > 0 {
		op.Cause = s.from[len(s.from)-1].From
	}
	c.m.Log.Add(op)
}
