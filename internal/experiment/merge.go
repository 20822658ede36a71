package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
)

// Merged is the result of a merge. Its JSON is what `kernbench merge --format json` prints.
type Merged struct {
	File     string   `json:"file"`
	Points   int      `json:"points"`  // number of points of the whole sweep
	Missing  []int    `json:"missing"` // indices of the points that no file has
	Programs []string `json:"-"`       // builds of the program that have run points
}

// WriteText writes how many points the merged file has, and what to do if points are
// missing.
func (m Merged) WriteText(w io.Writer) error {
	text := fmt.Sprintf("written: %s, %d of %s", m.File, m.Points-len(m.Missing), printable.Count(m.Points, "point"))
	if len(m.Missing) > 0 {
		text += fmt.Sprintf("\nrun the others: the same command with --resume --out %s", m.File)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// MergeOptions choose what a merge accepts.
type MergeOptions struct {
	Partial bool // accept missing points
	Strict  bool // refuse points of different builds of the program
}

// Merge writes the results of shards, or of parts of a sweep, to the file `out`. With all
// points, the file is byte for byte the file that the whole sweep would have written. A
// point that is in none of the given files is an error unless o.Partial is set. Points of
// different builds of the program are an error if o.Strict is set. The sweeps of the given
// files may still be running. If the file `out` exists, Merge replaces it only if it is an
// undamaged file of results. That file must also have no points, or belong to the same
// sweep and have only points that are in the given files. The error is a [*FileError]
// unless `out` could not be written.
func Merge(ctx context.Context, out string, o MergeOptions, files ...string) (m Merged, err error) {
	g, err := gather(ctx, files)
	if err != nil {
		return m, &FileError{err}
	}
	h := g.header
	m = Merged{File: out, Points: h.Points, Missing: []int{}, Programs: h.Programs}
	var present []record
	for i := range h.Points {
		if r, ok := g.records[i]; ok {
			present = append(present, r)
		} else {
			m.Missing = append(m.Missing, i)
		}
	}
	switch {
	case len(m.Missing) > 0 && !o.Partial:
		return m, &FileError{fmt.Errorf("%d of %d points are in none of the files: %s%s; run those, or merge with --partial",
			len(m.Missing), m.Points, formatRanges(m.Missing), shardsOf(m.Missing, g.shards))}
	case o.Strict && len(h.Programs) > 1:
		return m, &FileError{fmt.Errorf("the points are of different builds of the program (%s): leave out --strict to put them together", strings.Join(h.Programs, ", "))}
	}
	if _, missing := os.Lstat(out); !errors.Is(missing, fs.ErrNotExist) {
		var f *os.File
		if f, out, err = openLocked(out); err != nil {
			return m, &FileError{err}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := checkReplace(ctx, f, out, g); err != nil {
			return m, &FileError{err}
		}
	}
	return m, file.Write(out, lines(h, present))
}

// checkReplace returns an error if the points of g must not replace file f. This is the
// case if f has points that g does not have, if f is damaged and may have points that
// cannot be read, or if no sweep has written f.
func checkReplace(ctx context.Context, f *os.File, name string, g *pointSet) error {
	r, err := file.NewReader(ctx, f, maxFileBytes)
	if err != nil {
		return err
	}
	c, err := parse(name, r)
	switch {
	case errors.Is(err, errForeign):
		return err
	case err != nil:
		return fmt.Errorf("%w; or choose another name for the merged file", err)
	case len(c.records) == 0:
		return nil
	case !c.header.sameSweep(g.header):
		return fmt.Errorf("%s has points of another sweep, and would lose them: choose another name, or delete it first", name)
	}
	var lost []int
	for _, r := range c.records {
		if _, present := g.records[r.Point]; !present {
			lost = append(lost, r.Point)
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		return fmt.Errorf("%s has points of this sweep that none of the files has, and would lose them: %s; name it among the files too, or choose another name", name, formatRanges(lost))
	}
	return nil
}

// pointSet is the points of several files of one sweep.
type pointSet struct {
	header  header // has the programs of all files and no shard
	shards  int    // number of shards of the sweep; 0 if the files disagree or are not shards
	records map[int]record
}

// gather reads the points of several files of one sweep. It returns an error if a file is
// empty or belongs to another sweep, if two files have different columns, or if a point has
// different rows in two files.
func gather(ctx context.Context, files []string) (*pointSet, error) {
	g := &pointSet{records: map[int]record{}}
	from := map[int]string{}
	for i, name := range files {
		c, err := load(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case c.size == 0:
			return nil, fmt.Errorf("%s: the file is empty: its sweep has not begun", name)
		}
		if i == 0 {
			g.header, g.shards = c.header, c.shard.N
			g.header.Shard = ""
		} else if !g.header.sameSweep(c.header) {
			return nil, differentSweeps(files[0], g.header, name, c.header)
		} else if len(g.header.Schema) == 0 {
			g.header.Schema = c.header.Schema
		} else if len(c.header.Schema) > 0 && !g.header.compatible(c.header.Schema) {
			return nil, fmt.Errorf("%s and %s have results with different columns: leave out one of them", files[0], name)
		}
		g.header.addPrograms(c.header.Programs)
		if g.shards != c.shard.N {
			g.shards = 0
		}
		for _, r := range c.records {
			other, twice := g.records[r.Point]
			if twice && !r.equal(other) {
				return nil, fmt.Errorf("point %d (%s) has different rows in %s and %s: leave out the one that is wrong, or run the point again", r.Point, r.Settings, from[r.Point], name)
			}
			g.records[r.Point], from[r.Point] = r, name
		}
	}
	return g, nil
}

// load reads a file of results.
func load(ctx context.Context, name string) (*contents, error) {
	r, err := file.Open(ctx, name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return parse(name, r)
}

// shardsOf returns a text that names the shards of the given points, such as " (of shard
// 2/4, 3/4)". `shards` is the number of shards of the sweep. If it is 0, the text is empty.
func shardsOf(points []int, shards int) string {
	var words []string
	for i := range shards {
		s := Shard{i + 1, shards}
		if slices.ContainsFunc(points, s.contains) {
			words = append(words, s.String())
		}
	}
	if words == nil {
		return ""
	}
	return " (of shard " + strings.Join(words, ", ") + ")"
}

// differentSweeps returns an error that says how the sweeps of files a and b differ. ha and
// hb are the headers of the two files.
func differentSweeps(a string, ha header, b string, hb header) error {
	if ha.Identity != hb.Identity {
		return fmt.Errorf("%s and %s are not of one sweep:\n  %s\n  %s\nleave out one of them", a, b, ha.Identity, hb.Identity)
	}
	return fmt.Errorf("%s and %s are not of one sweep: of %d points (digest %s) and of %d (%s); leave out one of them", a, b, ha.Points, ha.Grid, hb.Points, hb.Grid)
}

// formatRanges returns ascending numbers as text, such as "0, 3-5, 9". It shows at most
// twelve ranges.
func formatRanges(list []int) string {
	const most = 12
	words := printable.Runs(list, 2)
	if len(words) > most {
		words = append(slices.Clip(words[:most]), "...")
	}
	return strings.Join(words, ", ")
}
