package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/kernbench/kernbench/internal/file"
)

// openFile opens the file that the options name and loads the rows that the file contains.
func (s *state[R]) openFile(ctx context.Context) error {
	h := header{Identity: s.Identity, Points: len(s.points), Grid: digest(s.points), Shard: s.Shard.String(), About: s.About, Schema: s.Schema}
	if s.Program != "" {
		h.Programs = []string{s.Program}
	}
	var c *contents
	var err error
	if s.out, c, err = open(ctx, s.Options, h); err != nil {
		return err
	}
	s.saved, s.last = map[int]json.RawMessage{}, -1
	if err := s.loadRecords(c); err != nil {
		return &FileError{errors.Join(err, s.out.close())}
	}
	return nil
}

// sortFile rewrites the file with its records in the order of the points, unless they are
// already in order.
func (s *state[R]) sortFile() error {
	if s.out == nil || s.last < len(s.points) {
		return nil
	}
	if err := file.Write(s.out.name, s.fileText()); err != nil {
		return fmt.Errorf("put %s in order: %w", s.out.name, err)
	}
	return nil
}

// fileText returns the text of a file with the header and all saved rows, in the order of
// the points.
func (s *state[R]) fileText() []byte {
	var records []record
	for _, index := range s.indices {
		if row := s.saved[index]; row != nil {
			records = append(records, newRecord(index, s.points[index], row))
		}
	}
	return lines(s.out.header, records)
}

// checkName checks that the name of the file of results still refers to the open file. A
// file that was removed is written again. If another file has the name, the rows are
// written under a new name, and an error ends the sweep.
func (s *state[R]) checkName() error {
	if s.out == nil {
		return nil
	}
	now, err := os.Stat(s.out.name)
	switch {
	case err == nil && os.SameFile(now, s.out.info):
		return nil
	case err == nil:
		e := &ReplacedError{Name: s.out.name, Kept: file.UnusedName(s.out.name), Points: len(s.saved)}
		if err := file.Write(e.Kept, s.fileText()); err != nil {
			return err
		}
		return e
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write results: %w", err)
	}
	if err := file.Write(s.out.name, s.fileText()); err != nil {
		return err
	}
	s.Warn(fmt.Sprintf("%s was removed, and has been written again with %d points", s.out.name, len(s.saved)))
	f, name, err := openLocked(s.out.name)
	if err != nil {
		return err
	}
	old := s.out
	if s.out, err = newOutput(f, name, old.header); err != nil {
		s.out = old
		return err
	}
	s.last = slices.Max(append(slices.Collect(maps.Keys(s.saved)), -1))
	return old.close()
}

// loadRecords decodes the records of the file into rows of the sweep. It returns an error
// if a record does not match its point.
func (s *state[R]) loadRecords(c *contents) error {
	for i, r := range c.records {
		var row R
		err := json.Unmarshal(r.Row, &row)
		if err == nil && !r.equal(newRecord(r.Point, s.points[r.Point], r.Row)) {
			err = fmt.Errorf("point %d is %v", r.Point, s.points[r.Point])
		}
		if err != nil {
			return fmt.Errorf("%s:%d: damaged: %w: delete the line to have its point run again", s.out.name, i+2, err)
		}
		s.rows[r.Point], s.saved[r.Point] = row, r.Row
		s.noteOrder(r.Point)
	}
	return nil
}

// noteOrder updates s.last after a record was appended to the file. `index` is the index of
// the point of the record. Once a record is out of order, s.last is len(s.points).
func (s *state[R]) noteOrder(index int) {
	if index < s.last {
		index = len(s.points) // out of order from now on
	}
	s.last = max(s.last, index)
}

// save appends the row of a point to the file. It then calls checkName, in case the file
// has been removed or replaced.
func (s *state[R]) save(index int, row json.RawMessage) error {
	s.saved[index] = row
	if err := s.out.append(newRecord(index, s.points[index], row)); err != nil {
		return err
	}
	s.noteOrder(index)
	return s.checkName()
}
