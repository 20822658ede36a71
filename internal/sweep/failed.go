package sweep

import "fmt"

// Failed is the points of a sweep that have no row, because their run failed.
type Failed struct {
	Points []*PointError // in the order of the points
	Total  int           // points of the shard
}

// Error counts them and tells of the first.
func (f *Failed) Error() string {
	return fmt.Sprintf("%d of %d points failed, the first of them %v", len(f.Points), f.Total, f.Points[0])
}

// Unwrap gives the single points.
func (f *Failed) Unwrap() []error {
	errs := make([]error, len(f.Points))
	for i, p := range f.Points {
		errs[i] = p
	}
	return errs
}

// PointError is why a point failed.
type PointError struct {
	Index int // among all points
	Point Point
	Err   error
}

// Error is "point 3 (topology=ring_1d n_elem=8): why".
func (e *PointError) Error() string {
	if len(e.Point) == 0 {
		return fmt.Sprintf("point %d: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("point %d (%v): %v", e.Index, e.Point, e.Err)
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
