package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/table"
)

// Summary is the comparison of all tables of two files or folders.
type Summary struct {
	A       string   `json:"a"` // name of the first file or folder
	B       string   `json:"b"`
	OK      bool     `json:"ok"` // whether rows were compared and none is bad
	Tables  []Named  `json:"tables"`
	Missing []string `json:"missing_files"` // files that only folder A has
	Added   []string `json:"new_files"`     // files that only folder B has
}

// Named is a comparison and the name of its table.
type Named struct {
	Name string `json:"name,omitempty"`
	*Comparison
}

// Bad reports whether a value got worse, or a row, column or file of A is missing in B.
func (s *Summary) Bad() bool {
	return len(s.Missing) > 0 || slices.ContainsFunc(s.Tables, func(n Named) bool { return n.Bad() })
}

// Matched returns the number of matched rows in all tables. If it is 0, nothing was
// compared.
func (s *Summary) Matched() (rows int) {
	for _, n := range s.Tables {
		rows += n.Matched
	}
	return rows
}

// All compares each table in a with the table of the same name in b. a and b are the tables
// of two files or folders. Summary.Missing and Summary.Added list tables that have no
// counterpart, except metrics and times of ranks, which are optional. All skips tables that
// have no column to compare or lack a column that the options name. It returns an error if
// the options are wrong, if the rows of two tables cannot be matched, or if no table was
// compared.
func All(a, b []table.Named, o Options) (*Summary, error) {
	if err := o.check(slices.Concat(a, b)); err != nil {
		return nil, err
	}
	s := &Summary{A: o.A, B: o.B, Missing: []string{}, Added: []string{}}
	var skipped error
	for _, entry := range a {
		other := findTable(b, entry.Name)
		if other == nil {
			if !optional(entry.Name) {
				s.Missing = append(s.Missing, entry.Name)
			}
			continue
		}
		c, err := Tables(entry.Table, other, o)
		if err == nil {
			s.Tables = append(s.Tables, Named{entry.Name, c})
			continue
		}
		if entry.Name != "" {
			err = fmt.Errorf("%s: %w", entry.Name, err)
		}
		if errors.As(err, new(*matchError)) {
			return nil, err
		}
		if skipped == nil {
			skipped = err
		}
	}
	for _, entry := range b {
		if findTable(a, entry.Name) == nil && !optional(entry.Name) {
			s.Added = append(s.Added, entry.Name)
		}
	}
	switch {
	case len(s.Tables) > 0:
		s.OK = s.Matched() > 0 && !s.Bad()
		return s, nil
	case skipped != nil:
		return nil, skipped
	}
	return nil, errors.New("they have no table of the same name: compare two files, or two folders with the same files")
}

// optional reports whether the table with the given name may be missing in one of two
// results. Only metrics and times of ranks may be missing.
func optional(name string) bool { return name == experiment.Metrics || name == experiment.Ranks }

// findTable returns the table with the given name, or nil if there is none.
func findTable(tables []table.Named, name string) *table.Table {
	for _, t := range tables {
		if t.Name == name {
			return t.Table
		}
	}
	return nil
}

// check returns an error if the options give a threshold or a direction for a column that
// no table has, or name a column for two purposes.
func (o *Options) check(tables []table.Named) error {
	type list struct {
		what    string
		columns []string
	}
	flags, lower, higher := map[string]string{}, list{"--lower", o.Lower}, list{"--higher", o.Higher}
	for _, entry := range []list{{"--key", o.Keys}, lower, higher} {
		for _, name := range entry.columns {
			if before := flags[name]; before != "" && before != entry.what {
				return fmt.Errorf("column %q is named by %s and %s: leave out one of them", name, before, entry.what)
			}
			flags[name] = entry.what
		}
	}
	for _, entry := range []list{{"threshold", slices.Sorted(maps.Keys(o.Thresholds))}, lower, higher} {
		for _, name := range entry.columns {
			has := func(t table.Named) bool { return name == "" || t.Index(name) >= 0 } // "" is the threshold of all columns
			if _, err := tables[0].Find(name); !slices.ContainsFunc(tables, has) {
				return fmt.Errorf("%s: %w", entry.what, err)
			}
		}
	}
	return nil
}
