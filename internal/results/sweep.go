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

// pointsTable is the rows of points, in the order of these: a sweep that has not ended has
// them as they did.
func pointsTable(points []any) ([]File, error) {
	type record struct {
		point float64
		rows  []object
	}
	var records []record
	settings := 0 // of every point the same
	for i, p := range points {
		point, _ := p.(object)
		set, _ := point.get("settings").(object)
		settings = len(set)
		at, ok := finite(cell(point.get("point")))
		if !ok {
			return nil, fmt.Errorf(`point %d in the file: no number as "point"`, i+1)
		}
		rows, err := pointRows(point.get("row"))
		if err != nil {
			return nil, fmt.Errorf("point %v: %w", at, err)
		}
		for i, row := range rows {
			rows[i] = beside(set, row)
		}
		records = append(records, record{at, rows})
	}
	if len(records) == 0 {
		return nil, errors.New("no point in it: the sweep ended before the first")
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.point, b.point) })
	var lines builder
	for _, r := range records {
		for _, row := range r.rows {
			lines.add(row)
		}
	}
	t := lines.table()
	t.Settings = settings
	return []File{{"", t}}, nil
}

// pointRows is the rows of a point: its own, those of a list, or those it has under "rows",
// each with what else the point says.
func pointRows(row any) ([]object, error) {
	var shared object
	if whole, ok := row.(object); ok {
		list, several := whole.get("rows").([]any)
		if !several {
			return []object{whole}, nil
		}
		for _, m := range whole {
			if m.name != "rows" {
				shared = append(shared, m)
			}
		}
		if len(list) == 0 {
			return []object{shared}, nil
		}
		row = list
	}
	list, ok := row.([]any)
	if !ok {
		return nil, errors.New(`"row" is neither an object nor a list of them`)
	}
	var rows []object
	for _, r := range list {
		o, ok := r.(object)
		if !ok {
			return nil, errors.New(`"row" has something that is no object`)
		}
		rows = append(rows, beside(shared, o))
	}
	return rows, nil
}

// beside is the members of one object, then those of another. One that both have is that of
// the first if they say the same, else the second's is called "row." and its name.
func beside(a, b object) object {
	all := append(object{}, a...)
	for _, m := range b {
		if same := a.get(m.name); same != nil {
			if cell(same) == cell(m.value) {
				continue
			}
			m.name = "row." + m.name
		}
		all = append(all, m)
	}
	return all
}
