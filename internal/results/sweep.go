package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// readSweep reads the lines of a sweep: one that tells of it, then one for each point.
// A last line that was cut off is passed over, as by the sweep that goes on there.
func readSweep(text []byte) ([]File, error) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	head, err := decodeObject(first)
	if err != nil || head.get("sweep") == nil {
		return nil, errors.New(`the first line does not tell of a sweep, {"sweep": ...}`)
	}
	var points []any
	for n := 2; len(rest) > 0; n++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !whole {
			break
		}
		point, err := decodeObject(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		points = append(points, point)
	}
	return pointsTable(points)
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
