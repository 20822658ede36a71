package plot

import (
	"cmp"
	"errors"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/table"
)

// The kinds of figures.
const (
	Lines = "lines"
	Bars  = "bars"
	Heat  = "heat"
)

// Request says which columns and rows of a table to draw. What is empty is chosen.
type Request struct {
	X     string
	Y, By []string
	Where []string // COLUMN=VALUE, of the rows to draw
	Kind  string
	Log   string // the logarithmic axes: x, y, xy or none
	Title string
	About string // of all rows, before the settings that are the same in all
	Note  string // below the picture, such as the name of the file
}

// Figure is a drawing of some columns.
type Figure struct {
	draw.Figure
	Request          // as it was completed
	Chosen  []string // flags that give what was chosen: "-x size"
	NotOK   int      // points of rows whose checks failed
	Series  []Series
}

// Draw draws columns of a table.
func Draw(t *table.Table, r Request) (*Figure, error) {
	switch {
	case len(t.Rows) == 0:
		return nil, errors.New("it has no rows: there is nothing to draw")
	case r.Kind == Heat && len(r.Y) > 1:
		return nil, errors.New("--kind heat takes one column -y")
	}
	f := &Figure{Request: r}
	d := &data{Table: t, x: -1, bare: r.Kind == Heat}
	if err := f.choose(d); err != nil {
		return nil, err
	}
	if err := d.read(f.Kind); err != nil {
		return nil, err
	}
	f.Series, f.NotOK = d.series, d.notOK
	f.Title = cmp.Or(f.Title, d.title())
	if len(f.Where) > 0 {
		f.Note += ": " + strings.Join(f.Where, ", ")
	}
	f.draw(d)
	return f, nil
}
