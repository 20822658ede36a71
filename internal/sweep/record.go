package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// header is the first line of a file: what must be the same for all its rows.
type header struct {
	Identity string `json:"identity"`
	Points   int    `json:"points"`          // of the whole sweep
	Grid     string `json:"grid"`            // digest of all points
	Shard    string `json:"shard,omitempty"` // of which the file has rows
}

// begin is how the first line begins, and nothing else that is likely to be in the way.
const begin = `{"sweep":`

func (h header) line() []byte {
	raw, err := marshal(h)
	if err != nil {
		panic(fmt.Sprintf("sweep: header: %v", err)) // texts and numbers only
	}
	return append(append([]byte(begin), raw...), '}')
}

// record is the line of a point.
type record struct {
	Point    int             `json:"point"`
	Settings json.RawMessage `json:"settings"`
	Row      json.RawMessage `json:"row"`
}

func newRecord(index int, p Point, row json.RawMessage) record {
	settings, err := p.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("sweep: settings: %v", err)) // texts only
	}
	return record{index, settings, row}
}

func (r record) line() []byte {
	return fmt.Appendf(nil, `{"point":%d,"settings":%s,"row":%s}`, r.Point, r.Settings, r.Row)
}

func (r record) equal(other record) bool { return bytes.Equal(r.line(), other.line()) }

// contents is what a file has, up to a last line that was not written to its end.
type contents struct {
	header  header
	shard   Shard // of the header
	records []record
	size    int64 // of the whole lines, in bytes
}

// errForeign is the cause of errors about files that no sweep has written.
var errForeign = errors.New("was not written by a sweep")

// parse reads the text of a file. Without a whole first line there is nothing in it.
func parse(name string, text []byte) (*contents, error) {
	if first := text[:min(len(text), len(begin))]; !bytes.HasPrefix([]byte(begin), first) {
		return nil, fmt.Errorf("%s %w: move it, or choose another name", name, errForeign)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1] // what comes after the last newline was not written to its end
	if len(lines) == 0 {
		return &contents{}, nil
	}
	c := &contents{}
	first := map[int]int{} // line of a point
	for i, line := range lines {
		c.size += int64(len(line))
		line = bytes.TrimSuffix(line, []byte("\n"))
		if i == 0 {
			if err := c.parseHeader(line); err != nil {
				return nil, fmt.Errorf("%s:1: %w: begin the file anew", name, err)
			}
			continue
		}
		r, err := c.parseRecord(line)
		if err == nil && first[r.Point] > 0 {
			err = fmt.Errorf("point %d again, which line %d has", r.Point, first[r.Point])
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w: delete the line to have its point run again", name, i+1, err)
		}
		first[r.Point] = i + 1
		c.records = append(c.records, r)
	}
	return c, nil
}

func (c *contents) parseHeader(line []byte) (err error) {
	var whole struct{ Sweep header }
	if err := json.Unmarshal(line, &whole); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	c.header = whole.Sweep
	if c.shard, err = ParseShard(c.header.Shard); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	if !bytes.Equal(c.header.line(), line) {
		return errors.New("damaged: not as a sweep writes it")
	}
	return nil
}

func (c *contents) parseRecord(line []byte) (r record, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("damaged: %w", err)
	}
	if !bytes.Equal(r.line(), line) {
		return r, errors.New("damaged: not as a sweep writes it")
	}
	if r.Point < 0 || r.Point >= c.header.Points || !c.shard.has(r.Point) {
		return r, fmt.Errorf("damaged: point %d is none of the %d of %s", r.Point, c.header.Points, c.shard.name())
	}
	return r, nil
}

// differs is why a file cannot take the rows of a sweep.
func (c *contents) differs(name string, want header) error {
	have := c.header
	switch {
	case have == want:
		return nil
	case have.Identity != want.Identity:
		return fmt.Errorf("%s has results of something else, which cannot be gone on with:\n  it has %s\n  this is %s\nleave out --resume to begin the file anew, or choose another name", name, have.Identity, want.Identity)
	case have.Points != want.Points || have.Grid != want.Grid:
		return fmt.Errorf("%s has results of other points, which cannot be gone on with: it is of a grid of %d points (digest %s), and this is one of %d (%s); leave out --resume to begin the file anew, or choose another name", name, have.Points, have.Grid, want.Points, want.Grid)
	}
	wanted, _ := ParseShard(want.Shard) // made from one
	return fmt.Errorf("%s is the file of %s, and this is %s: give each a file of its own", name, c.shard.name(), wanted.name())
}
