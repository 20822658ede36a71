package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// cursor is a position in JSON text that is known to be valid. It reads values without
// reflection, which would limit the speed of reading a trace. It allocates memory only for
// texts with escapes.
type cursor struct {
	json []byte
	i    int
}

// peek skips white space and returns the next character.
func (c *cursor) peek() byte {
	for isSpace(c.json[c.i]) {
		c.i++
	}
	return c.json[c.i]
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// object reads an object and calls `field` with each key. The function `field` must read
// the value of the key.
func (c *cursor) object(field func(key []byte) error) error {
	c.peek()
	c.i++ // {
	for c.peek() != '}' {
		if c.json[c.i] == ',' {
			c.i++
		}
		key, err := c.text()
		if err != nil {
			return err
		}
		c.peek()
		c.i++ // :
		if err := field(key); err != nil {
			return err
		}
	}
	c.i++
	return nil
}

// value reads the next value and returns its text.
func (c *cursor) value() []byte {
	first := c.peek()
	start := c.i
	switch first {
	case '"':
		for c.i++; c.json[c.i] != '"'; c.i++ {
			if c.json[c.i] == '\\' {
				c.i++
			}
		}
		c.i++
	case '{', '[':
		c.i++
		for c.peek() != '}' && c.json[c.i] != ']' {
			if b := c.json[c.i]; b == ',' || b == ':' {
				c.i++
			} else {
				c.value()
			}
		}
		c.i++
	default:
		for c.i < len(c.json) && !isSpace(c.json[c.i]) && strings.IndexByte(",}]", c.json[c.i]) < 0 {
			c.i++
		}
	}
	return c.json[start:c.i]
}

func (c *cursor) text() ([]byte, error) {
	v := c.value()
	if v[0] != '"' {
		return nil, errors.New("write a text")
	}
	inside := v[1 : len(v)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside, nil
	}
	var s string
	err := json.Unmarshal(v, &s)
	return []byte(s), err
}

func (c *cursor) integer() (int64, error) {
	n, err := strconv.ParseInt(string(c.value()), 10, 64)
	if err != nil {
		return 0, errors.New("write a whole number")
	}
	return n, nil
}

// time reads a decimal number of units and returns it as a time. A unit is 10^places
// femtoseconds.
func (c *cursor) time(places int) (simtime.Time, error) { return parseTime(c.value(), places) }

// Decimals that a femtosecond has in nanoseconds and in microseconds.
const (
	placesNS = 6
	placesUS = 9
)

var (
	errTime    = errors.New("write a decimal that is not negative, exact to the femtosecond, without an exponent")
	errTooLate = errors.New("a time that the clock does not reach")
)

// parseTime parses text as a decimal number of units and returns the exact time. A unit is
// 10^places femtoseconds.
func parseTime(text []byte, places int) (simtime.Time, error) {
	t, behind, point := simtime.Time(0), 0, false
	for _, b := range text {
		if b == '.' {
			point = true
			continue
		}
		if b < '0' || b > '9' {
			return 0, errTime
		}
		if point {
			if behind++; behind > places {
				if b == '0' {
					continue
				}
				return 0, errTime
			}
		}
		d := simtime.Time(b - '0')
		if t > (simtime.Never-d)/10 {
			return 0, errTooLate
		}
		t = t*10 + d
	}
	for ; behind < places; behind++ {
		if t > simtime.Never/10 {
			return 0, errTooLate
		}
		t *= 10
	}
	return t, nil
}

// event is one line of a trace. Its texts refer to the line and are valid as long as the
// line.
type event struct {
	phase    byte
	pid, tid int64
	at       simtime.Time
	name     []byte
	category []byte
	flow     int64                                    // the number of an arrow
	has      struct{ phase, pid, tid, at, flow bool } // fields that the line has
	args     args
}

// args is the set of event arguments that the analysis uses.
type args struct {
	name      []byte
	id, after int64
	bytes     int64
	queued    simtime.Time // queued_ns of a transfer, wait_ns of a train at a link
	launch    int64        // number of the launch, if the slice is a launch or a PE's first activity in it
	released  int64        // of a launch: the activity that released it
	makespan  simtime.Time // of the program
	program   bool         // makespan is present: the slice is the program
	source    []byte       // source line of the kernel
	inLaunch  bool         // launch is present
	pes       int64        // of a launch: number of PEs
	critical  simtime.Time // of a launch: its length
	ended     bool         // critical is present: the slice is a launch
	pe        []byte       // of a launch: the PE that ended last
}

// parse parses a line, which must be a JSON object without a trailing comma.
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
	case "released":
		a.released, err = c.integer()
	case "makespan_ns":
		a.program = true
		a.makespan, err = c.time(placesNS)
	case "line":
		a.source, err = c.text()
	default:
		c.value()
	}
	return named(key, err)
}

// named adds the name of a field to err. It returns nil if err is nil.
func named(key []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
