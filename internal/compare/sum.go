package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/table"
)

// Sum is what became of all tables of a file or a folder.
type Sum struct {
	A       string   `json:"a"` // what the tables are called
	B       string   `json:"b"`
	OK      bool     `json:"ok"` // rows were compared, and none is bad
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

// All compares the tables of two files or folders that have the same names. Tables without
// the columns that the options name are passed over, and so are the metrics and the times of
// ranks if the other file has none. Rows that cannot be matched are an error.
func All(a, b []table.Named, o Options) (*Sum, error) {
	if err := o.check(slices.Concat(a, b)); err != nil {
		return nil, err
	}
	s := &Sum{A: o.A, B: o.B, Missing: []string{}, Added: []string{}}
	var passed error
	for _, of := range a {
		other := find(b, of.Name)
		if other == nil {
			if !optional(of.Name) {
				s.Missing = append(s.Missing, of.Name)
			}
			continue
		}
		c, err := Tables(of.Table, other, o)
		if err == nil {
			s.Tables = append(s.Tables, Named{of.Name, c})
			continue
		}
		if of.Name != "" {
			err = fmt.Errorf("%s: %w", of.Name, err)
		}
		if errors.As(err, new(*unmatchable)) {
			return nil, err
		}
		if passed == nil {
			passed = err
		}
	}
	for _, of := range b {
		if find(a, of.Name) == nil && !optional(of.Name) {
			s.Added = append(s.Added, of.Name)
		}
	}
	switch {
	case len(s.Tables) > 0:
		s.OK = s.Matched() > 0 && !s.Bad()
		return s, nil
	case passed != nil:
		return nil, passed
	}
	return nil, errors.New("they have no table of the same name: compare two files, or two folders with the same files")
}

// optional reports whether a table may be in one of two results alone.
func optional(name string) bool { return name == experiment.Metrics || name == experiment.Ranks }

func find(tables []table.Named, name string) *table.Table {
	for _, t := range tables {
		if t.Name == name {
			return t.Table
		}
	}
	return nil
}

// check refuses thresholds and directions of columns that no table has, and columns that are
// said to be two things.
func (o *Options) check(tables []table.Named) error {
	type list struct {
		what    string
		columns []string
	}
	said, lower, higher := map[string]string{}, list{"--lower", o.Lower}, list{"--higher", o.Higher}
	for _, of := range []list{{"--key", o.Keys}, lower, higher} {
		for _, name := range of.columns {
			if before := said[name]; before != "" && before != of.what {
				return fmt.Errorf("column %q is named by %s and %s: leave out one of them", name, before, of.what)
			}
			said[name] = of.what
		}
	}
	for _, of := range []list{{"threshold", slices.Sorted(maps.Keys(o.Thresholds))}, lower, higher} {
		for _, name := range of.columns {
			has := func(t table.Named) bool { return name == "" || t.Index(name) >= 0 } // "" is the threshold of all columns
			if _, err := tables[0].Find(name); !slices.ContainsFunc(tables, has) {
				return fmt.Errorf("%s: %w", of.what, err)
			}
		}
	}
	return nil
}
