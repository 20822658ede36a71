package task

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// inboxes carries messages between the real ranks of one orchestration. The window of each
// rank has a list of messages from every other rank. A sender appends to its list, and then
// sets a signal to the number of messages in it.
type inboxes struct {
	window   *comm.Window
	rank     int
	ranks    int
	capacity int   // messages that fit into a list
	sent     []int // by rank: number of messages sent to it
	read     []int // by rank: number of messages read from its list
}

// messageBytes is the size of a message: the number of a task or of a pause, and a value.
const messageBytes = 16

// maxMessages is the largest number of messages from one rank to another in a program with
// values. The number of messages of such a program is not known in advance.
const maxMessages = 1 << 16

// newInboxes allocates the window with the lists of messages. All ranks must call it. For
// an orchestration of one rank it returns nil.
func newInboxes(c *comm.Comm, p *Program) (*inboxes, error) {
	if p.builder == nil || !p.builder.single {
		return nil, nil
	}
	m := &inboxes{rank: p.Rank, ranks: p.Ranks, capacity: maxMessages, sent: make([]int, p.Ranks), read: make([]int, p.Ranks)}
	if p.allRecorded() {
		m.capacity = 0
		for _, q := range p.builder.programs {
			m.capacity = max(m.capacity, len(q.out[1]))
		}
	}
	var err error
	m.window, err = c.AllocWindow(int64(m.ranks)*int64(m.capacity)*messageBytes, m.ranks)
	return m, err
}

// close frees the window with the lists of messages.
func (m *inboxes) close() error {
	if m == nil {
		return nil
	}
	return m.window.Close()
}

// send appends a message to this rank's list in the window of rank `to`. `what` is the
// number of a task or a pause.
func (m *inboxes) send(to int, what int64, value float64) error {
	if m.sent[to] == m.capacity {
		return fmt.Errorf("rank %d has sent %d messages to rank %d, and a program with values has at most that number between two real ranks: use fewer edges between ranks, or fewer values", m.rank, m.capacity, to)
	}
	var b [messageBytes]byte
	binary.LittleEndian.PutUint64(b[:], uint64(what))
	binary.LittleEndian.PutUint64(b[8:], math.Float64bits(value))
	if err := m.window.Put(to, int64(m.rank*m.capacity+m.sent[to])*messageBytes, b[:]); err != nil {
		return err
	}
	m.sent[to]++
	return m.window.Notify(to, m.rank, tl.Set, int64(m.sent[to]))
}

// next returns the next unread message: the sending rank, the number of a task or a pause,
// and a value. ok is false if there is no unread message.
func (m *inboxes) next() (from int, what int64, value float64, ok bool, err error) {
	for from = range m.ranks {
		if ok, err = m.window.TestSignal(from, tl.GT, int64(m.read[from])); ok && err == nil {
			b := m.window.Local()[(from*m.capacity+m.read[from])*messageBytes:]
			m.read[from]++
			return from, int64(binary.LittleEndian.Uint64(b)), math.Float64frombits(binary.LittleEndian.Uint64(b[8:])), true, nil
		}
		if err != nil {
			break
		}
	}
	return
}

// conditions returns one condition for each other rank. The condition holds when there is
// an unread message from that rank.
func (m *inboxes) conditions() (list []comm.Condition) {
	if m == nil {
		return nil
	}
	for from := range m.ranks {
		if from != m.rank {
			list = append(list, comm.Condition{Window: m.window, Signal: from, Cmp: tl.GT, Value: int64(m.read[from])})
		}
	}
	return list
}

// postAll sends all pending messages to other ranks. A message contains the number of the
// task that has ended or, for a value, -1 minus the number of the pause at which the
// orchestration waits.
func (w *workers) postAll() error {
	for w.due.len() > 0 {
		m := w.due.pop()
		what := int64(m.task.Task)
		if m.pause >= 0 {
			what = int64(-1 - m.pause)
		}
		if err := w.inboxes.send(m.to, what, w.values[m.pause]); err != nil {
			return err
		}
	}
	return nil
}

// receiveAll reads all messages that have arrived, and reports whether there were any
// messages.
func (w *workers) receiveAll() (moved bool, err error) {
	for w.inboxes != nil {
		from, what, value, ok, err := w.inboxes.next()
		if !ok || err != nil {
			return moved, err
		}
		moved = true
		if what >= 0 {
			w.receiveEnd(Ref{int32(from), ID(what)})
			continue
		}
		w.values[int(-1-what)] = value
	}
	return moved, nil
}

// readValues resumes the orchestration as long as the value that it waits for is known. The
// value is read at this rank, or was received from another rank. readValues reports whether
// it resumed the orchestration.
func (w *workers) readValues() (moved bool, err error) {
	for w.hasPause(w.passed) {
		number := w.passed
		v, received := w.values[number]
		if p, ok := w.valueToRead(); ok {
			v = w.readElement(p)
			w.values[number] = v
		} else if !received {
			break
		}
		moved = true
		err := w.builder.resume(v)
		if err == nil {
			err = w.grow()
		}
		if err != nil && w.builder.ctx.Err() == nil {
			err = &Refused{err}
		}
		if err != nil {
			return false, err
		}
		w.passPause()
		if !received {
			w.postValue(number)
		}
	}
	return moved, nil
}

// readElement reads, from the memory of this rank, the value that the orchestration waits
// for at pause p.
func (w *workers) readElement(p *pause) float64 {
	x := &w.tensors[p.x.number]
	data := x.Memory
	if x.Window != nil {
		data = x.Window.Local()[x.Offset:]
	}
	return numeric.Get(p.x.DType, data, int(p.elem))
}

// startPosting makes a control core start to write the next pending message to another
// rank. It reports whether there was a message.
func (d *device) startPosting(core int) bool {
	if d.due.len() == 0 {
		return false
	}
	d.posting[core] = d.due.pop()
	d.occupy(core, Posting, d.builder.task(d.posting[core].task).ID, d.config.Control.PostedWrite, evPosted, 0)
	return true
}

// send sends message m over the fabric to the rank m.to.
func (d *device) send(m message) {
	d.messages, d.inFlight = append(d.messages, m), append(d.inFlight, d.beginActivity("message of", d.builder.task(m.task).ID))
	d.machine.Message(d.messagePE, d.devices[m.to].messagePE, d.event(evArrived, m.to, 0, int32(len(d.messages)-1)))
}

// applyMessage updates the state of the rank after a control core has read message m.
func (d *device) applyMessage(m message) {
	was := d.ready.len()
	if m.pause >= 0 {
		d.receiveValue(m.pause)
	} else {
		d.receiveEnd(m.task)
	}
	d.stampReady(was)
	d.finishIfOver()
}

// fail records err and stops the machine, unless err is nil. Only the first error is kept.
func (s *simulation) fail(err error) {
	if err != nil && s.failed == nil {
		s.failed = err
		s.engine.Stop(err)
	}
}
