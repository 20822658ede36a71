package results

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/experiment"
)

// readSweep reads the results of a sweep.
func readSweep(ctx context.Context, path string) ([]File, error) {
	r, err := experiment.Read(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unread(path, err)
	} else if err != nil {
		return nil, err
	}
	var points []any
	for _, p := range r.Points {
		settings, err := decodeObject(bytes.NewReader(p.Settings))
		if err != nil {
			return nil, fmt.Errorf("%s: settings of point %d: %w", path, p.Point, err)
		}
		row, err := decode(bytes.NewReader(p.Row))
		if err != nil {
			return nil, fmt.Errorf("%s: row of point %d: %w", path, p.Point, err)
		}
		points = append(points, object{{"point", json.Number(strconv.Itoa(p.Point))}, {"settings", settings}, {"row", row}})
	}
	files, err := pointsTable(points)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files[0].Table.Missing = r.Missing
	return files, nil
}

// record is what a sweep kept of a point, its columns flat.
type record struct {
	point    float64
	settings object
	shared   object   // what the point says beside its rows
	rows     []object // of the bench
}

// ofPoint begins the names of what a point says that its rows have too.
const ofPoint = "point."

// pointsTable is the rows of points, in the order of these: a sweep that has not ended has
// them as they did.
func pointsTable(points []any) ([]File, error) {
	var records []record
	for i, p := range points {
		point, _ := p.(object)
		settings, _ := point.get("settings").(object)
		at, ok := finite(cell(point.get("point")))
		if !ok {
			return nil, fmt.Errorf(`point %d in the file: no number as "point"`, i+1)
		}
		shared, rows, err := pointRows(point.get("row"))
		if err != nil {
			return nil, fmt.Errorf("point %v: %w", at, err)
		}
		records = append(records, record{at, settings.flat(), shared, rows})
	}
	if len(records) == 0 {
		return nil, errors.New("no point in it: the sweep ended before the first")
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.point, b.point) })
	nameColumns(records)
	var lines builder
	for _, r := range records {
		for _, row := range r.rows {
			lines.add(slices.Concat(r.settings, r.shared, row))
		}
		if len(r.rows) == 0 {
			lines.add(slices.Concat(r.settings, r.shared))
		}
	}
	t := lines.table()
	t.Settings = len(records[0].settings) // of every point the same
	return []File{{"", t}}, nil
}

// nameColumns gives every column a name of its own, which depends on what columns there are and never
// on what is in them. Settings keep theirs; a column of rows that is also a setting is called
// "row." and its name, one of points that is also a setting or of rows "point." and its name.
func nameColumns(records []record) {
	settings, taken := map[string]bool{}, map[string]bool{}
	for _, r := range records {
		for _, m := range r.settings {
			settings[m.name], taken[m.name] = true, true
		}
	}
	for _, r := range records {
		for _, row := range r.rows {
			row.rename("row.", settings)
			for _, m := range row {
				taken[m.name] = true
			}
		}
	}
	for _, r := range records {
		r.shared.rename(ofPoint, taken)
	}
}

// rename puts a word before the names that are taken.
func (o object) rename(word string, taken map[string]bool) {
	for i := range o {
		for taken[o[i].name] {
			o[i].name = word + o[i].name
		}
	}
}

// pointRows is the rows of a point: itself, those of a list, or those it has under "rows",
// beside which the point may say more.
func pointRows(row any) (shared object, rows []object, err error) {
	if whole, ok := row.(object); ok {
		list, several := whole.get("rows").([]any)
		if !several {
			return nil, []object{whole.flat()}, nil
		}
		shared, row = whole.flat(), list // a list is no cell
	}
	list, ok := row.([]any)
	if !ok {
		return nil, nil, errors.New(`"row" is neither an object nor a list of them`)
	}
	for _, r := range list {
		o, ok := r.(object)
		if !ok {
			return nil, nil, errors.New(`"row" has something that is no object`)
		}
		rows = append(rows, o.flat())
	}
	return shared, rows, nil
}
