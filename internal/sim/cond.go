package sim

// Cond is a condition that processes wait for. The zero value is ready; it must
// not be copied once in use.
type Cond struct {
	What   string // for the deadlock report: "a free slot on port 3"
	Holder *Proc  // the process expected to bring the condition about, if one is known

	first, last *Proc
}

func (c *Cond) String() string {
	if c.What == "" {
		return "a condition"
	}
	return c.What
}

// HeldBy is the holder.
func (c *Cond) HeldBy() *Proc { return c.Holder }

// Wait waits until c is signalled.
func (p *Proc) Wait(c *Cond) {
	p.next = nil
	if c.first == nil {
		c.first = p
	} else {
		c.last.next = p
	}
	c.last = p
	p.park(c, p.eng.now)
}

// WaitFor waits until holds is true, testing it now and whenever c is signalled.
func (p *Proc) WaitFor(c *Cond, holds func() bool) {
	for !holds() {
		p.Wait(c)
	}
}

// Signal wakes the process that has waited longest, if any.
func (c *Cond) Signal() {
	if p := c.first; p != nil {
		c.first = p.next
		p.wakeNow()
	}
}

// Broadcast wakes every waiting process, in the order in which they came.
func (c *Cond) Broadcast() {
	for c.first != nil {
		c.Signal()
	}
}

// remove takes p out of the queue, and reports whether it was there.
func (c *Cond) remove(p *Proc) bool {
	var before *Proc
	for q := c.first; q != nil; before, q = q, q.next {
		if q != p {
			continue
		}
		if before == nil {
			c.first = p.next
		} else {
			before.next = p.next
		}
		if c.last == p {
			c.last = before
		}
		return true
	}
	return false
}
