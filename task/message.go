package task

// post starts to write the next message that is due, on a control core, and reports whether
// there was one.
func (d *device) post(core int) bool {
	if d.due.len() == 0 {
		return false
	}
	d.posting[core] = d.due.pop()
	d.occupy(core, Posting, d.by.task(d.posting[core].task).ID, d.config.Control.PostedWrite, evPosted, 0)
	return true
}

// send sends a message over the fabric.
func (d *device) send(m message) {
	d.messages = append(d.messages, m)
	d.fail(d.machine.Message(d.home, d.devices[m.to].home, d.event(evArrived, m.to, 0, int32(len(d.messages)-1))))
}

// received applies a message that a control core has read.
func (d *device) received(m message) {
	was := d.ready.len()
	if m.pause >= 0 {
		d.receiveValue(m.pause)
	} else {
		d.receiveEnd(m.task)
	}
	d.stamp(was)
	d.finishIfOver()
}

// fail stops the machine if err is not nil.
func (s *simulation) fail(err error) {
	if err != nil && s.failed == nil {
		s.failed = err
		s.engine.Stop(err)
	}
}
