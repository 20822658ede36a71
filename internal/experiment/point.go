package experiment

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/table"
)

// Setting is a key and a value of a point.
type Setting struct{ Name, Value string }

// Point is one configuration. Its settings are in the order of the sweep.
type Point []Setting

// PointOf returns the cells of a row ([table.Cells]) as the settings of a point.
func PointOf(row any) (Point, error) {
	cells, err := table.Cells(row)
	if err != nil {
		return nil, err
	}
	p := make(Point, len(cells))
	for i, c := range table.ColumnsOf(row) {
		p[i] = Setting{c.Name, table.Text(cells[i])}
	}
	return p, nil
}

// Get returns the value of a setting. It panics if the point has no setting with that name.
func (p Point) Get(name string) string {
	for _, s := range p {
		if s.Name == name {
			return s.Value
		}
	}
	panic(fmt.Sprintf("experiment: no setting %q in the point %q", name, p.String()))
}

// String returns a text such as "topology=ring_1d n_elem=8".
func (p Point) String() string {
	return strings.Join(lists.Map(p, func(s Setting) string { return s.Name + "=" + s.Value }), " ")
}

// Record returns the settings as a JSON object, in the order of the point.
func (p Point) Record() table.Record {
	r := make(table.Record, len(p))
	for i, s := range p {
		r[i] = table.Member{Name: s.Name, Value: s.Value}
	}
	return r
}

// Dimension is a setting and all its values. NameAt and At are set if the dimension comes
// from a file: they are the paths in the file of the name and of each value.
type Dimension struct {
	Name   string
	Values []string
	NameAt string
	At     []string
}

// Product returns the points of a grid. Each group is a list of settings that change
// together: the settings have the same number of values, and the i-th values belong
// together. There is a point for each combination of the groups, and the last group changes
// fastest. Without groups, Product returns one point without settings.
func Product(groups [][]Dimension) []Point {
	points := []Point{{}}
	for _, dims := range groups {
		var wider []Point
		for _, p := range points {
			for i := range dims[0].Values {
				q := p[:len(p):len(p)]
				for _, d := range dims {
					q = append(q, Setting{d.Name, d.Values[i]})
				}
				wider = append(wider, q)
			}
		}
		points = wider
	}
	return points
}

// digest returns a hash of points and their order.
func digest(points []Point) string {
	var text []byte
	for _, p := range points {
		for _, s := range p {
			text = fmt.Appendf(text, "%q=%q ", s.Name, s.Value)
		}
		text = append(text, '\n')
	}
	return config.Digest(text)
}

// Shard is a part of the points, for one of N machines. It contains the points whose index
// modulo N is I-1. The zero value contains all points.
type Shard struct{ I, N int }

var shardPattern = regexp.MustCompile(`^([1-9][0-9]{0,5})/([1-9][0-9]{0,5})$`)

// ParseShard parses a text such as "2/4". The empty text stands for all points.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	m := shardPattern.FindStringSubmatch(text)
	if m == nil {
		return Shard{}, fmt.Errorf("%q is no shard: write i/n, such as 2/4 for the second of four", text)
	}
	i, _ := strconv.Atoi(m[1]) // cannot fail: at most six digits
	n, _ := strconv.Atoi(m[2])
	s := Shard{i, n}
	return s, s.check()
}

// String returns a text such as "2/4", or "" for all points.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// check returns an error if the shard is not one of the N shards of a sweep.
func (s Shard) check() error {
	if s != (Shard{}) && (s.I < 1 || s.I > s.N) {
		return fmt.Errorf("no shard %d of %d: the first is 1/%d and the last %d/%d", s.I, s.N, max(s.N, 1), max(s.N, 1), max(s.N, 1))
	}
	return nil
}

// Indices returns the indices of the shard's points, for a sweep with a given number of
// points.
func (s Shard) Indices(points int) (list []int) {
	for i := range points {
		if s.contains(i) {
			list = append(list, i)
		}
	}
	return list
}

// contains reports whether the shard contains the point with the given index.
func (s Shard) contains(index int) bool { return s.N == 0 || index%s.N == s.I-1 }

// description returns the words for the shard in error messages: "the whole sweep" or
// "shard 2/4".
func (s Shard) description() string {
	if s.N == 0 {
		return "the whole sweep"
	}
	return "shard " + s.String()
}

// Failed is the error of a sweep with points that have no row, because their run failed.
type Failed struct {
	Points []*PointError // in the order of the points
	Total  int           // points of the shard
}

// Error returns the number of failed points and each reason once.
func (f *Failed) Error() string {
	text := fmt.Sprintf("%d of %d points failed", len(f.Points), f.Total)
	for _, err := range f.Unwrap() {
		text += "\n" + err.Error()
	}
	return text
}

// Unwrap returns a *PointError for each distinct reason. Errors that differ only in numbers
// have the same reason. The *PointError is the error of the first point that failed for the
// reason, and its field Also holds the errors of the other points.
func (f *Failed) Unwrap() (reasons []error) {
	first := map[string]*PointError{}
	for _, p := range f.Points {
		reason := numeral.ReplaceAllString(p.Err.Error(), "0")
		if known := first[reason]; known != nil {
			known.Also = append(known.Also, p)
			continue
		}
		own := *p
		first[reason] = &own
		reasons = append(reasons, &own)
	}
	return reasons
}

// numeral matches the parts that may differ between two errors with the same reason: times,
// sizes, and numbers in the names of PEs.
var numeral = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?`)

// PointError is the error of a point that failed.
type PointError struct {
	Index int // index among all points
	Point Point
	Err   error
	Also  []*PointError // points with the same error, except for its numbers
}

// shownAlso is the number of points with the same error that a message names.
const shownAlso = 8

// Error returns a text such as "point 3 (topology=ring_1d n_elem=8): why", followed by the
// points with the same error.
func (e *PointError) Error() string {
	text := fmt.Sprintf("%s: %v", e.name(), e.Err)
	if len(e.Also) > 0 {
		text += "\n  likewise " + strings.Join(lists.Map(e.Also[:min(len(e.Also), shownAlso)], (*PointError).name), ", ")
	}
	if more := len(e.Also) - shownAlso; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// name returns the number and the settings of the point.
func (e *PointError) name() string {
	if len(e.Point) == 0 {
		return fmt.Sprintf("point %d", e.Index)
	}
	return fmt.Sprintf("point %d (%v)", e.Index, e.Point)
}

// Unwrap returns the reason.
func (e *PointError) Unwrap() error { return e.Err }

// ReplacedError reports that another file took the name of the file of results during the
// sweep.
type ReplacedError struct {
	Name   string
	Kept   string // the file that has the points of the sweep
	Points int    // the number of points in Kept
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("another process has replaced %s: that file is left as it is, and the %d points of this sweep are in %s; continue with --resume --out %s", e.Name, e.Points, e.Kept, e.Kept)
}

// FileError reports that a file of results cannot be used: it belongs to another sweep, is
// damaged, is being written by another process, or cannot be accessed. It is returned
// before any point runs and before any file is written.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }
