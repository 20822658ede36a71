package results

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Sum is what became of all tables of a file or a folder.
type Sum struct {
	Tables  []Named  `json:"tables"`
	Missing []string `json:"missing_files"` // that only the folder A has
	Added   []string `json:"new_files"`     // that only the folder B has
}

// Named is a comparison and the table it is of.
type Named struct {
	Name string `json:"name,omitempty"`
	*Comparison
}

// Bad reports whether something got worse, or is no longer there.
func (s *Sum) Bad() bool {
	return len(s.Missing) > 0 || slices.ContainsFunc(s.Tables, func(n Named) bool { return n.Bad() })
}

// Matched returns the number of rows of all tables that both have. Without any, nothing was
// compared.
func (s *Sum) Matched() (rows int) {
	for _, n := range s.Tables {
		rows += n.Matched
	}
	return rows
}

// CompareAll compares the tables of two files or folders that have the same names. Tables
// without the columns that the options name are passed over, and so are what a run says as a
// whole and the times of ranks if the other file has none. Rows that cannot be matched are an error.
func CompareAll(a, b []File, o CompareOptions) (*Sum, error) {
	if err := o.Thresholds.check(a); err != nil {
		return nil, err
	}
	s := &Sum{Missing: []string{}, Added: []string{}}
	var passed error
	for _, fa := range a {
		fb := find(b, fa.Name)
		if fb == nil {
			if !optional(fa.Name) {
				s.Missing = append(s.Missing, fa.Name)
			}
			continue
		}
		c, err := Compare(fa.Table, fb.Table, o)
		if err == nil {
			s.Tables = append(s.Tables, Named{fa.Name, c})
			continue
		}
		if fa.Name != "" {
			err = fmt.Errorf("%s: %w", fa.Name, err)
		}
		if refused := new(unmatchable); errors.As(err, &refused) {
			return nil, err
		}
		if passed == nil {
			passed = err
		}
	}
	for _, fb := range b {
		if find(a, fb.Name) == nil && !optional(fb.Name) {
			s.Added = append(s.Added, fb.Name)
		}
	}
	switch {
	case len(s.Tables) > 0:
		return s, nil
	case passed != nil:
		return nil, passed
	}
	return nil, errors.New("they have no table of the same name: compare two files, or two folders with the same files")
}

// optional reports whether a table may be in one of two results that are compared.
func optional(name string) bool { return name == Metrics || name == Ranks }

func find(files []File, name string) *File {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &files[i]
}

// check refuses thresholds of columns that no table has.
func (t *Thresholds) check(files []File) error {
	for _, name := range slices.Sorted(maps.Keys(t.column)) {
		var missing error
		for _, f := range files {
			if _, err := f.Table.Column(name); err == nil {
				missing = nil
				break
			} else if missing == nil {
				missing = fmt.Errorf("threshold: %w", err)
			}
		}
		if missing != nil {
			return missing
		}
	}
	return nil
}
