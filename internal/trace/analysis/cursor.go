package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
)

// cursor walks over JSON that is known to be valid. It allocates nothing but for texts
// with escapes: a trace is read at the speed of the disk, not of reflection.
type cursor struct {
	json []byte
	i    int
}

// peek is the first character of what comes next.
func (c *cursor) peek() byte {
	for isSpace(c.json[c.i]) {
		c.i++
	}
	return c.json[c.i]
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// object calls field for each key of an object; field takes the value.
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

// value is the next value as it is written.
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

// time is a decimal of a unit in which a femtosecond has so many places.
func (c *cursor) time(places int) (sim.Time, error) { return parseTime(c.value(), places) }

// Places behind the point of a femtosecond.
const (
	placesNS = 6
	placesUS = 9
)

var (
	errTime    = errors.New("write a decimal that is not negative, exact to the femtosecond, without an exponent")
	errTooLate = errors.New("a time that the clock does not reach")
)

// parseTime reads a decimal exactly.
func parseTime(text []byte, places int) (sim.Time, error) {
	t, behind, point := sim.Time(0), 0, false
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
		d := sim.Time(b - '0')
		if t > (sim.Never-d)/10 {
			return 0, errTooLate
		}
		t = t*10 + d
	}
	for ; behind < places; behind++ {
		if t > sim.Never/10 {
			return 0, errTooLate
		}
		t *= 10
	}
	return t, nil
}
