package analysis

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/sim"
)

// event is one line of a trace. Its texts are those of the line, and gone with it.
type event struct {
	phase    byte
	pid, tid int64
	at       sim.Time
	name     []byte
	category []byte
	flow     int64
	has      struct{ phase, pid, tid, at, flow bool }
	args     args
}

// args is what the analysis knows of an event's arguments.
type args struct {
	name      []byte
	id, after int64
	bytes     int64
	queued    sim.Time // queued_ns of a transfer, wait_ns of a train at a link
	launch    int64    // one, or that the first activity of a PE is of
	inLaunch  bool     // it has that
	pes       int64
	critical  sim.Time
	ended     bool // it is a launch, and says how long it was
	pe        []byte
}

// parse reads a line, which is an object of JSON without the comma behind it.
func (e *event) parse(line []byte) error {
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return errors.New("this is no event: each line is one, an object of JSON")
	}
	*e = event{}
	c := cursor{line, 0}
	return c.object(func(key []byte) (err error) {
		switch string(key) {
		case "ph":
			var phase []byte
			if phase, err = c.text(); err == nil && len(phase) != 1 {
				err = fmt.Errorf("%q is no phase", phase)
			}
			if err == nil {
				e.phase, e.has.phase = phase[0], true
			}
		case "pid":
			e.has.pid = true
			e.pid, err = c.integer()
		case "tid":
			e.has.tid = true
			e.tid, err = c.integer()
		case "ts":
			e.has.at = true
			e.at, err = c.time(placesUS)
		case "name":
			e.name, err = c.text()
		case "cat":
			e.category, err = c.text()
		case "id":
			e.has.flow = true
			e.flow, err = c.integer()
		case "args":
			if c.peek() != '{' {
				return errors.New("args: write an object")
			}
			return c.object(func(key []byte) error { return e.args.parse(key, &c) })
		default:
			c.value()
		}
		return named(key, err)
	})
}

func (a *args) parse(key []byte, c *cursor) (err error) {
	switch string(key) {
	case "name":
		a.name, err = c.text()
	case "id":
		a.id, err = c.integer()
	case "after":
		a.after, err = c.integer()
	case "bytes":
		a.bytes, err = c.integer()
	case "queued_ns", "wait_ns":
		a.queued, err = c.time(placesNS)
	case "launch":
		a.inLaunch = true
		a.launch, err = c.integer()
	case "pes":
		a.pes, err = c.integer()
	case "crit_ns":
		a.ended = true
		a.critical, err = c.time(placesNS)
	case "pe":
		a.pe, err = c.text()
	default:
		c.value()
	}
	return named(key, err)
}

func named(key []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
