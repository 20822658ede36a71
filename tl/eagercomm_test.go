package tl_test

import (
	"fmt"

	"github.com/kernbench/kernbench/tl"
)

func (e *eagerPE) Notify(peer, signal int, op tl.SignalOp, value int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if op == tl.Add {
		value += e.signals[[2]int{peer, signal}]
	}
	e.signals[[2]int{peer, signal}] = value
	e.changed.Broadcast()
	return nil
}

func (e *eagerPE) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !cmp.Holds(e.signals[[2]int{e.rank, signal}], value) {
		e.changed.Wait()
	}
	return nil
}

func (e *eagerPE) Barrier(signal int) *tl.Barrier {
	if e.barriers[signal] == nil {
		e.barriers[signal] = &tl.Barrier{}
	}
	return e.barriers[signal]
}

func (e *eagerPE) TestSignal(signal int, cmp tl.Cmp, value int64) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Holds(e.signals[[2]int{e.rank, signal}], value), nil
}

func (e *eagerPE) Send(port tl.Port, v tl.Value) error {
	data := e.data(&v)
	e.mu.Lock()
	defer e.mu.Unlock()
	var to end
	switch port {
	case tl.East:
		to = end{(e.rank + 1) % e.ranks, tl.West}
	case tl.West:
		to = end{(e.rank + e.ranks - 1) % e.ranks, tl.East}
	default:
		return fmt.Errorf("port %v leads nowhere", port)
	}
	e.queues[to].messages = append(e.queues[to].messages, data)
	e.changed.Broadcast()
	return nil
}

func (e *eagerPE) Recv(port tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	h, port, err := e.post(port, v, into)
	if err == nil && wait {
		err = e.Wait(h)
	}
	return h, port, err
}

func (e *eagerPE) post(port tl.Port, v *tl.Value, into *tl.Block) (tl.Handle, tl.Port, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for port == tl.AnyPort {
		for _, p := range []tl.Port{tl.East, tl.West} {
			if q := e.queues[end{e.rank, p}]; q.posted < len(q.messages) {
				port = p
			}
		}
		if port == tl.AnyPort {
			e.changed.Wait()
		}
	}
	q := e.queues[end{e.rank, port}]
	if q == nil {
		return tl.Handle{}, 0, fmt.Errorf("port %v leads nowhere", port)
	}
	r := eagerReceive{queue: q, message: q.posted}
	if into != nil {
		block := *into
		r.into = &block
	}
	q.posted++
	e.newTile(v, nil)
	r.slot = v.Slot
	e.receives = append(e.receives, r)
	return tl.Handle{N: uint64(len(e.receives))}, port, nil
}

// Select waits until one of the cases holds, and returns its index. A SendCase always
// holds, because queues are unbounded.
func (e *eagerPE) Select(cases []tl.Case) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		for i, c := range cases {
			ready := c.Kind == tl.SendCase
			switch c.Kind {
			case tl.RecvCase:
				q := e.queues[end{e.rank, c.Port}]
				ready = q.posted < len(q.messages)
			case tl.SignalCase:
				ready = c.Cmp.Holds(e.signals[[2]int{e.rank, c.Signal}], c.Value)
			}
			if ready {
				return i, nil
			}
		}
		e.changed.Wait()
	}
}

func (e *eagerPE) Wait(h tl.Handle) error {
	if int(h.N) > len(e.receives) {
		return nil // a composite, which has already ended
	}
	r := e.receives[h.N-1]
	e.mu.Lock()
	for r.message >= len(r.queue.messages) {
		e.changed.Wait()
	}
	data := r.queue.messages[r.message]
	e.mu.Unlock()
	e.tiles[r.slot] = data
	if r.into != nil {
		e.write(r.into, data)
	}
	return nil
}
