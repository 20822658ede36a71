package plot

import (
	"cmp"
	"errors"
	"fmt"
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
	case r.Kind != "" && r.Kind != Lines && strings.Contains(r.Log, "x"):
		return nil, fmt.Errorf("--log %s says nothing to --kind %s: drop it", r.Log, r.Kind)
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

// mostChosen is the number of series up to which columns that tell rows apart are chosen.
const mostChosen = 24

// choose finds the columns and rows of the request, and chooses what it leaves open.
func (f *Figure) choose(d *data) (err error) {
	if d.rows, err = d.matching(f.Where); err != nil {
		return fmt.Errorf("--where: %w", err)
	}
	if d.ys, err = d.find(f.Y); err != nil {
		return fmt.Errorf("-y: %w", err)
	}
	if d.by, err = d.find(f.By); err != nil {
		return fmt.Errorf("--by: %w", err)
	}
	if f.Y == nil {
		measured := d.measured()
		if len(measured) == 0 {
			return fmt.Errorf("nothing says which column was measured: name one with -y; there are %s", strings.Join(d.Names(), ", "))
		}
		d.ys = measured[:1]
		if f.Kind != Heat {
			d.ys = d.withBounds(measured[0])
		}
		f.Y = d.names(d.ys)
		f.Chosen = append(f.Chosen, "-y "+shellWord(strings.Join(f.Y, ",")))
	}
	if f.X == "" {
		if d.x = d.widest(); d.x < 0 {
			return fmt.Errorf("no setting has several values: name a column with -x; there are %s", strings.Join(d.Names(), ", "))
		}
		f.X = d.Columns[d.x].Name
		f.Chosen = append(f.Chosen, "-x "+shellWord(f.X))
	} else if d.x, err = d.Find(f.X); err != nil {
		return fmt.Errorf("-x: %w", err)
	}
	if f.Kind == "" {
		f.Kind = Lines
		if !d.numeric(d.x) {
			f.Kind = Bars
			f.Chosen = append(f.Chosen, "--kind "+Bars)
		}
	}
	if f.Kind != Heat {
		if err := d.count(); err != nil {
			return err
		}
	}
	if f.By == nil {
		var tell []int
		if clashes := d.clashes(d.ys[0]); len(clashes) > 0 {
			tell = d.TellApart(clashes, d.settings())
		} else if c := d.widest(); f.Kind == Heat && c >= 0 {
			tell = []int{c}
		}
		if len(tell) > 0 && (f.Kind == Heat || len(d.values(tell...)) <= mostChosen) {
			d.by, f.By = tell, d.names(tell)
			f.Chosen = append(f.Chosen, "--by "+shellWord(strings.Join(f.By, ",")))
		}
	}
	if f.Kind != Heat {
		return nil
	}
	if len(d.by) == 0 {
		return errors.New("--kind heat takes the rows of its table from --by COLUMN")
	}
	return d.countCells()
}
