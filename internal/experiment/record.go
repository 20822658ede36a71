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

// MaxPoints is the largest number of points of a sweep.
const MaxPoints = 1_000_000

const (
	maxFileBytes = 1 << 30
	maxLineBytes = 16 << 20
)

// header is the first line of a file.
type header struct {
	Identity string   `json:"identity"`
	Programs []string `json:"programs,omitempty"` // the builds of the program that have run points, sorted
	Points   int      `json:"points"`             // number of points of the whole sweep
	Grid     string   `json:"grid"`               // hash of all points
	Shard    string   `json:"shard,omitempty"`    // the part of the points that the file has

	About  string       `json:"about,omitempty"`  // a text for people about what all points share
	Schema table.Schema `json:"schema,omitempty"` // columns of settings and rows; early versions wrote none
}

// fileStart is the start of every file.
const fileStart = `{"sweep":`

// plain returns the line of a header without its checksum.
func (h header) plain() []byte {
	raw, err := table.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("experiment: header: %v", err)) // cannot happen: the header has only texts and numbers
	}
	return append(append([]byte(fileStart), raw...), '}')
}

// line returns the line of a header.
func (h header) line() []byte { return addChecksum(h.plain(), 0) }

// sameSweep reports whether the files with the headers h and `other` have points of the
// same sweep.
func (h header) sameSweep(other header) bool {
	return h.Identity == other.Identity && h.Points == other.Points && h.Grid == other.Grid
}

// seed returns the start value for the checksums of records. It depends on the sweep, so
// that records of another sweep have a wrong checksum.
func (h header) seed() uint32 {
	return crc32.Checksum(fmt.Appendf(nil, "%q %d %q", h.Identity, h.Points, h.Grid), castagnoli)
}

// hasPrograms reports whether the header lists all given builds of the program.
func (h header) hasPrograms(programs []string) bool {
	return !slices.ContainsFunc(programs, func(p string) bool { return !slices.Contains(h.Programs, p) })
}

// compatible reports whether rows with schema s fit into the file. A header without a
// schema fits all rows.
func (h header) compatible(s table.Schema) bool {
	return len(h.Schema) == 0 || maps.EqualFunc(h.Schema, s, slices.Equal)
}

// addPrograms adds the given builds of the program to the header's list.
func (h *header) addPrograms(programs []string) {
	h.Programs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Programs, programs))))
}

// otherPrograms returns the builds of the program that the header lists, except the given
// build.
func (h header) otherPrograms(program string) []string {
	return slices.DeleteFunc(slices.Clone(h.Programs), func(p string) bool { return p == program })
}

// record is the line of a point.
type record struct {
	Point    int             `json:"point"`
	Settings json.RawMessage `json:"settings"`
	Row      json.RawMessage `json:"row"`
}

// newRecord returns the record of a point and its row.
func newRecord(index int, p Point, row json.RawMessage) record {
	settings, err := p.Record().MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("experiment: settings: %v", err)) // cannot happen: settings are texts
	}
	return record{index, settings, row}
}

// plain returns the line of a record without its checksum.
func (r record) plain() []byte {
	return fmt.Appendf(nil, `{"point":%d,"settings":%s,"row":%s}`, r.Point, r.Settings, r.Row)
}

// line returns the line of a record in a sweep with the given seed.
func (r record) line(seed uint32) []byte { return addChecksum(r.plain(), seed) }

func (r record) equal(other record) bool { return bytes.Equal(r.plain(), other.plain()) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// addChecksum returns a line, which is a JSON object, with its checksum as the last member.
// `seed` is the start value of the checksum.
func addChecksum(plain []byte, seed uint32) []byte {
	sum := crc32.Update(seed, castagnoli, plain)
	return fmt.Appendf(plain[:len(plain)-1], `,"sum":"%08x"}`, sum)
}

// sumEnd matches the end of a line with a checksum. It is sumEndBytes long.
var sumEnd = regexp.MustCompile(`^,"sum":"[0-9a-f]{8}"\}$`)

const sumEndBytes = len(`,"sum":"01234567"}`)

// splitChecksum returns a line without its checksum, and whether the line had one. It
// returns an error if the checksum is wrong.
func splitChecksum(line []byte, seed uint32) (plain []byte, hasChecksum bool, err error) {
	start := max(0, len(line)-sumEndBytes)
	if !sumEnd.Match(line[start:]) {
		return line, false, nil
	}
	again := addChecksum(append(bytes.Clone(line[:start]), '}'), seed)
	if !bytes.Equal(again, line) {
		return nil, true, errors.New("its checksum is wrong")
	}
	return append(again[:start], '}'), true, nil
}

// contents is the contents of a file, without an incomplete last line.
type contents struct {
	header       header
	hasChecksums bool // whether lines have checksums; early versions wrote none
	seed         uint32
	shard        Shard // the shard in the header
	records      []record
	size         int64 // size of the whole lines in bytes
}

// missing returns how many points of the file's shard are not in the file.
func (c *contents) missing() int { return len(c.shard.Indices(c.header.Points)) - len(c.records) }

// lines returns the text of a file that consists of a header and records.
func lines(h header, records []record) []byte {
	b := append(h.line(), '\n')
	for _, r := range records {
		b = append(append(b, r.line(h.seed())...), '\n')
	}
	return b
}

// errForeign is the cause of errors about files that no sweep has written.
var errForeign = errors.New("was not written by a sweep")

// errNotCanonical is the error for a line that a sweep would write in another way.
var errNotCanonical = errors.New("not as a sweep writes it")

// parse reads a file of results from r. The contents are empty if the file has no whole
// first line. Text after the last newline is ignored. The error wraps errForeign if no
// sweep has written the file. `name` is the name of the file in errors.
func parse(name string, r io.Reader) (*contents, error) {
	first := make([]byte, len(fileStart))
	n, err := io.ReadFull(r, first)
	switch first = first[:n]; {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case !bytes.HasPrefix([]byte(fileStart), first):
		return nil, fmt.Errorf("%s %w: move it, or choose another name", name, errForeign)
	}
	c := &contents{}
	in := file.NewLines(io.MultiReader(bytes.NewReader(first), r), maxLineBytes)
	seen := map[int]int{} // line number of each point
	for {
		line, whole, err := in.Next()
		switch {
		case errors.Is(err, file.ErrLineTooLong):
			return nil, fmt.Errorf("%s:%d: damaged: %w", name, in.Line(), err)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read %s: %w", name, err)
		case err == io.EOF || !whole: // the text after the last newline is an incomplete line
			return c, nil
		case in.Line() == 1:
			if err := c.parseHeader(line); err != nil {
				return nil, fmt.Errorf("%s:1: damaged: %w: start the file again", name, err)
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

// parseHeader parses the first line of a file.
func (c *contents) parseHeader(line []byte) (err error) {
	plain, hasChecksum, err := splitChecksum(line, 0)
	var whole struct{ Sweep header }
	if err == nil {
		err = json.Unmarshal(plain, &whole)
	}
	c.header, c.hasChecksums = whole.Sweep, hasChecksum
	if err == nil {
		c.shard, err = ParseShard(c.header.Shard)
	}
	switch {
	case err != nil:
		return err
	case c.header.Points < 0 || c.header.Points > MaxPoints:
		return fmt.Errorf("%d points, and a sweep has at most %d", c.header.Points, MaxPoints)
	case !bytes.Equal(c.header.plain(), plain):
		return errNotCanonical
	}
	if !hasChecksum {
		c.header.upgrade()
	}
	c.seed = c.header.seed()
	return nil
}

// earlyProgram matches the program in an identity. Files of early versions have it there.
var earlyProgram = regexp.MustCompile(`kernbench ([^ ,]+), program ([0-9a-f]+), `)

// upgrade converts the header of an early version to the current form.
func (h *header) upgrade() {
	if m := earlyProgram.FindStringSubmatchIndex(h.Identity); m != nil && len(h.Programs) == 0 {
		h.Programs = []string{h.Identity[m[2]:m[3]] + " " + h.Identity[m[4]:m[5]]}
		h.Identity = h.Identity[:m[0]] + h.Identity[m[1]:]
	}
}

// parseRecord parses a line that follows the first line of a file. It returns an error if
// the point of the line does not belong to the file's shard.
func (c *contents) parseRecord(line []byte) (r record, err error) {
	plain, hasChecksum, err := splitChecksum(line, c.seed)
	if err == nil && hasChecksum != c.hasChecksums {
		return r, errNotCanonical
	} else if err == nil {
		err = json.Unmarshal(plain, &r)
	}
	switch {
	case err != nil:
		return r, err
	case !bytes.Equal(r.plain(), plain):
		return r, errNotCanonical
	case r.Point < 0 || r.Point >= c.header.Points || !c.shard.contains(r.Point):
		return r, fmt.Errorf("point %d is none of the %d of %s", r.Point, c.header.Points, c.shard.description())
	}
	return r, nil
}

// checkHeader returns an error if a sweep with the header `want` cannot add rows to the
// file.
func (c *contents) checkHeader(name string, want header) error {
	have := c.header
	switch {
	case have.Identity != want.Identity:
		return fmt.Errorf("%s has results of another run, which --resume cannot continue:\n  it has %s\n  this is %s\nleave out --resume to start the file again, or choose another name", name, have.Identity, want.Identity)
	case !have.sameSweep(want):
		return fmt.Errorf("%s has results of other points, which --resume cannot continue: it is of a grid of %d points (digest %s), and this is one of %d (%s); leave out --resume to start the file again, or choose another name", name, have.Points, have.Grid, want.Points, want.Grid)
	case have.Shard != want.Shard:
		wanted, _ := ParseShard(want.Shard) // cannot fail: Shard.String wrote it
		return fmt.Errorf("%s is the file of %s, and this is %s: give each a file of its own", name, c.shard.description(), wanted.description())
	case !have.compatible(want.Schema):
		return fmt.Errorf("%s has results with other columns, which --resume cannot continue: leave out --resume to start the file again, or choose another name", name)
	}
	return nil
}
