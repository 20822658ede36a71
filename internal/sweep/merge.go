package sweep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Merged is what a merge has put together.
type Merged struct {
	Points  int   // of the whole sweep
	Missing []int // indices of those that no file has
}

// Merge writes the results of shards, or of parts of a sweep, to one file: byte for byte
// what the whole sweep would have written. Missing points are refused unless a partial
// file will do, which a sweep can go on with. The files may be those of running
// sweeps. What out has of the sweep is never lost.
func Merge(out string, partial bool, files ...string) (m Merged, err error) {
	h, shards, records, err := gather(files)
	if err != nil {
		return m, err
	}
	m.Points = h.Points
	var there []record
	for i := range h.Points {
		if r, ok := records[i]; ok {
			there = append(there, r)
		} else {
			m.Missing = append(m.Missing, i)
		}
	}
	if len(m.Missing) > 0 && !partial {
		return m, fmt.Errorf("%d of %d points are in none of the files: %s%s", len(m.Missing), m.Points, ranges(m.Missing), homes(m.Missing, shards))
	}
	f, out, err := openLocked(out)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(f)
	if err != nil {
		return m, fmt.Errorf("read %s: %w", out, err)
	}
	before, err := parse(out, text)
	if errors.Is(err, errForeign) {
		return m, err
	}
	if err == nil { // what is damaged is in nobody's way
		if err := before.loses(out, h, records); err != nil {
			return m, err
		}
	}
	return m, rewrite(f, out, h, there)
}

// loses is why a file must not be replaced by some records.
func (c *contents) loses(name string, h header, records map[int]record) error {
	if len(c.records) == 0 {
		return nil
	}
	c.header.Shard = ""
	if c.header != h {
		return fmt.Errorf("%s has points of another sweep, and would lose them: choose another name, or delete it first", name)
	}
	if lost := c.beyond(records); len(lost) > 0 {
		return fmt.Errorf("%s has points of this sweep that none of the files has, and would lose them: %s; name it among the files too, or choose another name", name, ranges(lost))
	}
	return nil
}

// beyond is the points that a file has beside some records.
func (c *contents) beyond(records map[int]record) (list []int) {
	for _, r := range c.records {
		if _, there := records[r.Point]; !there {
			list = append(list, r.Point)
		}
	}
	slices.Sort(list)
	return list
}

// gather reads files of one sweep; shards is how many there are, if all files are ones of
// as many.
func gather(files []string) (h header, shards int, records map[int]record, err error) {
	records, from := map[int]record{}, map[int]string{}
	for i, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return h, 0, nil, err
		}
		c, err := parse(name, text)
		switch {
		case err != nil:
			return h, 0, nil, err
		case c.size == 0:
			return h, 0, nil, fmt.Errorf("%s: the file is empty: its sweep has not begun", name)
		}
		c.header.Shard = ""
		if i == 0 {
			h, shards = c.header, c.shard.N
		} else if h != c.header {
			return h, 0, nil, unlike(files[0], h, name, c.header)
		}
		if shards != c.shard.N {
			shards = 0
		}
		for _, r := range c.records {
			other, twice := records[r.Point]
			if twice && !r.equal(other) {
				return h, 0, nil, fmt.Errorf("point %d (%s) has different rows in %s and %s: leave out the one that is wrong, or run the point again", r.Point, r.Settings, from[r.Point], name)
			}
			records[r.Point], from[r.Point] = r, name
		}
	}
	return h, shards, records, nil
}

// homes is the shards that points are of: " (of shard 2/4, 3/4)".
func homes(points []int, shards int) string {
	var words []string
	for i := range shards {
		s := Shard{i + 1, shards}
		if slices.ContainsFunc(points, s.has) {
			words = append(words, s.String())
		}
	}
	if words == nil {
		return ""
	}
	return " (of shard " + strings.Join(words, ", ") + ")"
}

// unlike is how two files are not of one sweep.
func unlike(a string, ha header, b string, hb header) error {
	if ha.Identity != hb.Identity {
		return fmt.Errorf("%s and %s are not of one sweep:\n  %s\n  %s\nleave out one of them", a, b, ha.Identity, hb.Identity)
	}
	return fmt.Errorf("%s and %s are not of one sweep: of %d points (digest %s) and of %d (%s); leave out one of them", a, b, ha.Points, ha.Grid, hb.Points, hb.Grid)
}

// ranges is ascending numbers for people: "0, 3-5, 9", the first dozen of them.
func ranges(list []int) string {
	const most = 12
	var words []string
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		word := strconv.Itoa(list[i])
		if j-i > 1 {
			word += "-" + strconv.Itoa(list[j-1])
		}
		words = append(words, word)
		i = j
	}
	if len(words) > most {
		words = append(slices.Clip(words[:most]), "...")
	}
	return strings.Join(words, ", ")
}
