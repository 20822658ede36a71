package plot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/table"
)

// maxChosenSeries is the largest number of series for which the columns of --by are chosen
// automatically.
const maxChosenSeries = 24

// choose finds the columns and rows that the request names. It then chooses the columns and
// the kind of figure that the request leaves open.
func (f *Figure) choose(d *data) (err error) {
	if d.rows, err = d.matchingRows(f.Where); err != nil {
		return fmt.Errorf("--where: %w", err)
	}
	if d.ys, err = d.FindAll(f.Y); err != nil {
		return fmt.Errorf("-y: %w", err)
	}
	if d.by, err = d.FindAll(f.By); err != nil {
		return fmt.Errorf("--by: %w", err)
	}
	if err := f.chooseY(d); err != nil {
		return err
	}
	if err := f.chooseX(d); err != nil {
		return err
	}
	if f.Kind == Heat {
		f.chooseBy(d)
		if len(d.by) == 0 {
			return errors.New("--kind heat takes the rows of its table from --by COLUMN")
		}
		return d.checkCells()
	}
	if err := d.checkPoints(); err != nil {
		return err
	}
	f.chooseBy(d)
	return nil
}

// recordChoice records a flag and its values as chosen automatically, for Figure.Chosen.
func (f *Figure) recordChoice(flag string, values ...string) {
	f.Chosen = append(f.Chosen, flag+" "+printable.ShellWord(strings.Join(values, ",")))
}

// chooseY chooses the columns of -y unless the request names them: the first measured
// column and, except in a heat map, its bounds.
func (f *Figure) chooseY(d *data) error {
	if f.Y != nil {
		return nil
	}
	measured := d.measuredColumns()
	if len(measured) == 0 {
		return fmt.Errorf("nothing says which column was measured: name one with -y; there are %s", strings.Join(d.Names(), ", "))
	}
	d.ys = measured[:1]
	if f.Kind != Heat {
		d.ys = d.withBounds(measured[0])
	}
	f.Y = d.NamesOf(d.ys)
	f.recordChoice("-y", f.Y...)
	return nil
}

// chooseX chooses the column of -x and the kind of figure, unless the request names them.
// The column is the setting with the most distinct values, preferably numbers. The kind is
// lines if the column contains only numbers, otherwise bars. chooseX returns an error if
// the request asks for a logarithmic x axis and the kind is not lines.
func (f *Figure) chooseX(d *data) (err error) {
	if f.X != "" {
		if d.x, err = d.Find(f.X); err != nil {
			return fmt.Errorf("-x: %w", err)
		}
	} else {
		if d.x = d.widestSetting(); d.x < 0 {
			return fmt.Errorf("no setting has several values: name a column with -x; there are %s", strings.Join(d.Names(), ", "))
		}
		f.X = d.Columns[d.x].Name
		f.recordChoice("-x", f.X)
	}
	if f.Kind == "" {
		f.Kind = Lines
		if !d.numeric(d.x) {
			f.Kind = Bars
			f.recordChoice("--kind", Bars)
		}
	}
	if f.Kind != Lines && strings.Contains(f.Log, "x") {
		return fmt.Errorf("--log %s says nothing to --kind %s: drop it", f.Log, f.Kind)
	}
	return nil
}

// chooseBy chooses the columns of --by, unless the request names them. It chooses the
// settings that distinguish rows with the same x. If no rows have the same x, it chooses
// the setting with the most distinct values for a heat map, and nothing for other kinds.
// For kinds other than a heat map, it also chooses nothing if there would be too many
// series.
func (f *Figure) chooseBy(d *data) {
	if f.By != nil {
		return
	}
	var columns []int
	if clashes := d.clashes(d.ys[0]); len(clashes) > 0 {
		columns = d.TellApart(clashes, d.settings())
	} else if c := d.widestSetting(); f.Kind == Heat && c >= 0 {
		columns = []int{c}
	}
	if len(columns) > 0 && (f.Kind == Heat || d.Distinct(columns, d.rows) <= maxChosenSeries) {
		d.by, f.By = columns, d.NamesOf(columns)
		f.recordChoice("--by", f.By...)
	}
}

// measuredColumns returns the columns that contain numbers and have the role lower or
// higher. In the table of a sweep, it leaves out metrics of a point that repeat a column of
// the point's rows, unless there are no other columns.
func (d *data) measuredColumns() []int {
	all := slices.DeleteFunc(d.With(table.Lower, table.Higher), func(c int) bool {
		return !slices.ContainsFunc(d.rows, func(row int) bool { _, ok := d.Number(row, c); return ok })
	})
	own := slices.DeleteFunc(slices.Clone(all), func(c int) bool { return experiment.RepeatsRow(d.Table, d.Columns[c].Name) })
	if len(own) == 0 {
		return all
	}
	return own
}

// withBounds returns column y, followed by the columns of bounds that have the unit of y.
func (d *data) withBounds(y int) []int {
	return append([]int{y}, slices.DeleteFunc(d.With(table.Bound), func(c int) bool {
		return !d.Columns[c].Unit.Same(d.Columns[y].Unit) || experiment.RepeatsRow(d.Table, d.Columns[c].Name)
	})...)
}

// widestSetting returns the setting with the most distinct values, or -1 if every setting
// has only one value. It prefers numeric settings for which `connects` returns true. Of
// settings with the same number of values, it returns the first.
func (d *data) widestSetting() int {
	widest, most, numeric := -1, 1, false
	for _, c := range d.settings() {
		n, is := d.Distinct([]int{c}, d.rows), d.numeric(c) && d.connects(c)
		if n > 1 && (is && !numeric || n > most && is == numeric) {
			widest, most, numeric = c, n, is
		}
	}
	return widest
}

// connects reports whether lines with column x as their x axis would have at least two
// points each on average.
func (d *data) connects(x int) bool {
	over := *d
	over.x = x
	clashes := over.clashes(d.ys[0])
	if len(clashes) == 0 {
		return true
	}
	columns := over.TellApart(clashes, over.settings())
	return 2*d.Distinct(columns, d.rows) <= len(d.rows)
}

// numeric reports whether all cells of a column in the drawn rows are numbers or empty.
func (d *data) numeric(column int) bool {
	return !slices.ContainsFunc(d.rows, func(row int) bool { _, ok := d.Number(row, column); return !ok && d.Rows[row][column] != nil })
}

// settings returns the columns that may distinguish rows and are not drawn yet. These are
// the columns with the role setting, and columns of words without a role.
func (d *data) settings() []int {
	return slices.DeleteFunc(d.With(table.Setting, ""), func(c int) bool {
		return d.isDrawn(c) || d.Columns[c].Role == "" && d.numeric(c)
	})
}

// isDrawn reports whether a column is x, one of the ys, or one of --by.
func (d *data) isDrawn(c int) bool {
	return c == d.x || slices.Contains(d.ys, c) || slices.Contains(d.by, c)
}

// clashes returns groups of rows. The rows of a group have the same x and the same values
// of --by, so that their values in column y would be drawn at the same x in the same
// series.
func (d *data) clashes(y int) [][]int {
	type place struct {
		by string
		x  any
	}
	drawn := slices.DeleteFunc(slices.Clone(d.rows), func(row int) bool { return d.Rows[row][y] == nil })
	return table.Clashes(drawn, func(row int) place { return place{d.Key(row, d.by), d.xValue(row)} })
}

// ambiguityError returns an error if `clashes` contains groups of rows. The rows of a group
// would be drawn at the same place. The error names the columns that would distinguish
// these rows, or says that there are no such columns.
func (d *data) ambiguityError(clashes [][]int) error {
	if len(clashes) == 0 {
		return nil
	}
	first := clashes[0]
	where := fmt.Sprintf("%s = %s", d.Columns[d.x].Name, d.Text(first[0], d.x))
	if by := d.byText(first[0], false); by != "" {
		where += " of " + by
	}
	message := fmt.Sprintf("%d rows for %s (rows %d and %d)", len(first), where, first[0]+1, first[1]+1)
	// Columns of numbers without a role may also distinguish the rows.
	numbers := slices.DeleteFunc(d.With(""), func(c int) bool { return d.isDrawn(c) || !d.numeric(c) })
	columns := d.TellApart(clashes, append(d.settings(), numbers...))
	if len(columns) == 0 {
		return fmt.Errorf("%s, alike in all columns that could tell them apart: leave one of them out of the file", message)
	}
	values := lists.Map(columns, func(c int) string {
		return "--where " + printable.ShellWord(d.Columns[c].Name+"="+d.Text(first[0], c))
	})
	by := strings.Join(d.NamesOf(slices.Concat(d.by, columns)), ",")
	return fmt.Errorf("%s: tell them apart with --by %s, or draw some with %s", message, printable.ShellWord(by), strings.Join(values, " "))
}
