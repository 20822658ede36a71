package sim

import "slices"

// Cond is a condition that processes wait for. The zero value is ready; it must
// not be copied once in use.
type Cond struct {
	What   string // for the deadlock report: "a free slot on port 3"
	Holder *Proc  // the process expected to bring the condition about, if one is known

	waiting []*Proc // in the order in which they came
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
	c.waiting = append(c.waiting, p)
	p.Park(c)
}

// WaitFor waits until holds is true, testing it now and whenever c is signalled.
func (p *Proc) WaitFor(c *Cond, holds func() bool) {
	for !holds() {
		p.Wait(c)
	}
}

// Signal wakes the process that has waited longest, if any.
func (c *Cond) Signal() {
	if len(c.waiting) > 0 {
		p := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		p.wakeNow()
	}
}

// Broadcast wakes every waiting process, in the order in which they came.
func (c *Cond) Broadcast() {
	for _, p := range c.waiting {
		p.wakeNow()
	}
	clear(c.waiting)
	c.waiting = c.waiting[:0]
}

// remove takes p out of the queue, and reports whether it was there.
func (c *Cond) remove(p *Proc) bool {
	i := slices.Index(c.waiting, p)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	return i >= 0
}
