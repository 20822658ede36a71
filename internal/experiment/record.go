package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/table"
)

// MaxPoints is the most points that a sweep may have.
const MaxPoints = 1_000_000

const (
	maxFileBytes = 1 << 30
	maxLineBytes = 16 << 20
)

// header is the first line of a file.
type header struct {
	Identity string   `json:"identity"`
	Programs []string `json:"programs,omitempty"` // the builds of the program that have run points, in order
	Points   int      `json:"points"`             // of the whole sweep
	Grid     string   `json:"grid"`               // digest of all points
	Shard    string   `json:"shard,omitempty"`    // the part of the points that the file has

	About  string       `json:"about,omitempty"`  // what all points share, for people
	Schema table.Schema `json:"schema,omitempty"` // columns of settings and rows; early versions wrote none
}

// begin is how every file begins.
const begin = `{"sweep":`

// plain returns the line of a header without its checksum.
func (h header) plain() []byte {
	raw, err := table.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("experiment: header: %v", err)) // texts and numbers only
	}
	return append(append([]byte(begin), raw...), '}')
}

// line returns the line of a header.
func (h header) line() []byte { return seal(h.plain(), 0) }

// sameSweep reports whether two files have points of one sweep.
func (h header) sameSweep(other header) bool {
	return h.Identity == other.Identity && h.Points == other.Points && h.Grid == other.Grid
}

// seed returns the start of the checksums of records, so that a record of another sweep
// does not pass for one of this.
func (h header) seed() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%q %d %q", h.Identity, h.Points, h.Grid), castagnoli)
}

// has reports whether the header has all of some programs.
func (h header) has(programs []string) bool {
	return !slices.ContainsFunc(programs, func(p string) bool { return !slices.Contains(h.Programs, p) })
}

// compatible reports whether rows of a schema fit those of the file, whose header may have
// none.
func (h header) compatible(s table.Schema) bool {
	return len(h.Schema) == 0 || maps.EqualFunc(h.Schema, s, slices.Equal)
}

// add adds programs to those of the header.
func (h *header) add(programs []string) {
	h.Programs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Programs, programs))))
}

// olds returns the programs of the header beside one.
func (h header) olds(program string) []string {
	return slices.DeleteFunc(slices.Clone(h.Programs), func(p string) bool { return p == program })
}

// record is the line of a point.
type record struct {
	Point    int             `json:"point"`
	Settings json.RawMessage `json:"settings"`
	Row      json.RawMessage `json:"row"`
}

func newRecord(index int, p Point, row json.RawMessage) record {
	settings, err := p.Record().MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("experiment: settings: %v", err)) // texts only
	}
	return record{index, settings, row}
}

// plain returns the line of a record without its checksum.
func (r record) plain() []byte {
	return fmt.Appendf(nil, `{"point":%d,"settings":%s,"row":%s}`, r.Point, r.Settings, r.Row)
}

// line returns the line of a record in the file of a sweep with that seed.
func (r record) line(seed uint32) []byte { return seal(r.plain(), seed) }

func (r record) equal(other record) bool { return bytes.Equal(r.plain(), other.plain()) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal adds the checksum to a line that is a JSON object, as its last member.
func seal(plain []byte, seed uint32) []byte {
	sum := crc32.Update(seed, castagnoli, plain)
	return fmt.Appendf(plain[:len(plain)-1], `,"sum":"%08x"}`, sum)
}

// sumEnd is the end of a line with a checksum, of sumEndBytes.
var sumEnd = regexp.MustCompile(`^,"sum":"[0-9a-f]{8}"\}$`)

const sumEndBytes = len(`,"sum":"01234567"}`)

// unseal returns a line without its checksum, and whether it has one. A wrong checksum is
// an error.
func unseal(line []byte, seed uint32) (plain []byte, sealed bool, err error) {
	start := max(0, len(line)-sumEndBytes)
	if !sumEnd.Match(line[start:]) {
		return line, false, nil
	}
	again := seal(append(bytes.Clone(line[:start]), '}'), seed)
	if !bytes.Equal(again, line) {
		return nil, true, errors.New("its checksum is wrong")
	}
	return append(again[:start], '}'), true, nil
}

// contents is what a file has, up to a last line that was not written to its end.
type contents struct {
	header  header
	sealed  bool // lines have checksums; those of early versions have none
	seed    uint32
	shard   Shard // of the header
	records []record
	size    int64 // of the whole lines, in bytes
}

// missing returns how many points of its shard the file does not have.
func (c *contents) missing() int { return len(c.shard.Indices(c.header.Points)) - len(c.records) }

// lines returns the text of a file.
func lines(h header, records []record) []byte {
	b := append(h.line(), '\n')
	for _, r := range records {
		b = append(append(b, r.line(h.seed())...), '\n')
	}
	return b
}

// errForeign is the cause of errors about files that no sweep has written.
var errForeign = errors.New("was not written by a sweep")

// errNotOurs is the error of a line that a sweep would write otherwise.
var errNotOurs = errors.New("not as a sweep writes it")

// parse reads a file. Without a whole first line the file has no contents.
func parse(name string, r io.Reader) (*contents, error) {
	first := make([]byte, len(begin))
	n, err := io.ReadFull(r, first)
	switch first = first[:n]; {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case !bytes.HasPrefix([]byte(begin), first):
		return nil, fmt.Errorf("%s %w: move it, or choose another name", name, errForeign)
	}
	c := &contents{}
	in := file.NewLines(io.MultiReader(bytes.NewReader(first), r), maxLineBytes)
	seen := map[int]int{} // line of a point
	for {
		line, whole, err := in.Next()
		switch {
		case errors.Is(err, file.ErrLineTooLong):
			return nil, fmt.Errorf("%s:%d: damaged: %w", name, in.Line(), err)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read %s: %w", name, err)
		case err == io.EOF || !whole: // what comes after the last newline was not written to its end
			return c, nil
		case in.Line() == 1:
			if err := c.parseHeader(line); err != nil {
				return nil, fmt.Errorf("%s:1: damaged: %w: begin the file anew", name, err)
			}
		default:
			r, err := c.parseRecord(line)
			if err != nil {
				err = fmt.Errorf("damaged: %w", err)
			} else if seen[r.Point] > 0 {
				err = fmt.Errorf("point %d again, which line %d has", r.Point, seen[r.Point])
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w: delete the line to have its point run again", name, in.Line(), err)
			}
			seen[r.Point] = in.Line()
			c.records = append(c.records, r)
		}
		c.size += int64(len(line)) + 1
	}
}

func (c *contents) parseHeader(line []byte) (err error) {
	plain, sealed, err := unseal(line, 0)
	var whole struct{ Sweep header }
	if err == nil {
		err = json.Unmarshal(plain, &whole)
	}
	c.header, c.sealed = whole.Sweep, sealed
	if err == nil {
		c.shard, err = ParseShard(c.header.Shard)
	}
	switch {
	case err != nil:
		return err
	case c.header.Points < 0 || c.header.Points > MaxPoints:
		return fmt.Errorf("%d points, and a sweep has at most %d", c.header.Points, MaxPoints)
	case !bytes.Equal(c.header.plain(), plain):
		return errNotOurs
	}
	if !sealed {
		c.header.fromEarly()
	}
	c.seed = c.header.seed()
	return nil
}

// earlyProgram is the part of the identity that named the program, in files of early
// versions.
var earlyProgram = regexp.MustCompile(`kernbench ([^ ,]+), program ([0-9a-f]+), `)

// fromEarly makes the header of an early version one of this.
func (h *header) fromEarly() {
	if m := earlyProgram.FindStringSubmatchIndex(h.Identity); m != nil && len(h.Programs) == 0 {
		h.Programs = []string{h.Identity[m[2]:m[3]] + " " + h.Identity[m[4]:m[5]]}
		h.Identity = h.Identity[:m[0]] + h.Identity[m[1]:]
	}
}

func (c *contents) parseRecord(line []byte) (r record, err error) {
	plain, sealed, err := unseal(line, c.seed)
	if err == nil && sealed != c.sealed {
		return r, errNotOurs
	} else if err == nil {
		err = json.Unmarshal(plain, &r)
	}
	switch {
	case err != nil:
		return r, err
	case !bytes.Equal(r.plain(), plain):
		return r, errNotOurs
	case r.Point < 0 || r.Point >= c.header.Points || !c.shard.has(r.Point):
		return r, fmt.Errorf("point %d is none of the %d of %s", r.Point, c.header.Points, c.shard.name())
	}
	return r, nil
}

// differs returns why a file cannot take the rows of a sweep.
func (c *contents) differs(name string, want header) error {
	have := c.header
	switch {
	case have.Identity != want.Identity:
		return fmt.Errorf("%s has results of something else, which cannot be gone on with:\n  it has %s\n  this is %s\nleave out --resume to begin the file anew, or choose another name", name, have.Identity, want.Identity)
	case !have.sameSweep(want):
		return fmt.Errorf("%s has results of other points, which cannot be gone on with: it is of a grid of %d points (digest %s), and this is one of %d (%s); leave out --resume to begin the file anew, or choose another name", name, have.Points, have.Grid, want.Points, want.Grid)
	case have.Shard != want.Shard:
		wanted, _ := ParseShard(want.Shard) // made from one
		return fmt.Errorf("%s is the file of %s, and this is %s: give each a file of its own", name, c.shard.name(), wanted.name())
	case !have.compatible(want.Schema):
		return fmt.Errorf("%s has results with other columns, which cannot be gone on with: leave out --resume to begin the file anew, or choose another name", name)
	}
	return nil
}
