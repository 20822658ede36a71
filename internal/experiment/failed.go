package experiment

import (
	"fmt"
	"regexp"
)

// Failed is the points of a sweep that have no row, because their run failed.
type Failed struct {
	Points []*PointError // in the order of the points
	Total  int           // points of the shard
}

// Error counts them and gives each reason once.
func (f *Failed) Error() string {
	text := fmt.Sprintf("%d of %d points failed", len(f.Points), f.Total)
	for _, err := range f.Unwrap() {
		text += "\n" + err.Error()
	}
	return text
}

// Unwrap gives a *PointError for each reason: that of the first point that failed for it,
// with the others in Also.
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

// numeral is what may differ between two errors of one reason: times, sizes, and names of
// PEs.
var numeral = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?`)

// PointError is why a point failed.
type PointError struct {
	Index int // among all points
	Point Point
	Err   error
	Also  []*PointError // that failed for the same reason, but for its numbers
}

// shownAlso is how many points are named that failed for the same reason as another.
const shownAlso = 8

// Error is "point 3 (topology=ring_1d n_elem=8): why", and behind it the points that failed
// for the same reason.
func (e *PointError) Error() string {
	text := fmt.Sprintf("%s: %v", e.name(), e.Err)
	for i, p := range e.Also {
		switch {
		case i == 0:
			text += "\n  likewise " + p.name()
		case i == shownAlso:
			return text + fmt.Sprintf(" and %d more", len(e.Also)-i)
		default:
			text += ", " + p.name()
		}
	}
	return text
}

func (e *PointError) name() string {
	if len(e.Point) == 0 {
		return fmt.Sprintf("point %d", e.Index)
	}
	return fmt.Sprintf("point %d (%v)", e.Index, e.Point)
}

// Unwrap is why.
func (e *PointError) Unwrap() error { return e.Err }

// ReplacedError reports that another file has got the name of the results while the sweep
// ran.
type ReplacedError struct {
	Name   string
	Kept   string // the file that has the points of the sweep
	Points int    // how many those are
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("another process has replaced %s: that file is left as it is, and the %d points of this sweep are in %s; go on with --resume --out %s", e.Name, e.Points, e.Kept, e.Kept)
}

// FileError is why a file of results cannot be used, before any point has been run: it is
// another sweep's, damaged, being written by another process, or out of reach.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap is the reason.
func (e *FileError) Unwrap() error { return e.Err }
