package table

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
)

// field is a field of a row type that is a column.
type field struct {
	Column
	index []int // for reflect.Value.FieldByIndex
}

// fieldsOf returns the columns of a row type. The columns are those fields of the type and
// of embedded structs that have a tag `table:"UNIT,ROLE,LABEL"`. The names of the columns
// are in the json tags. fieldsOf panics if a tag is not complete, if two fields have the
// same name, or if the type is not a struct.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("table: %v is no struct: a row is a struct with tagged fields", t))
	}
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("table")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		parts := append(strings.SplitN(tag, ",", 3), "", "")
		c := Column{Name: name, Unit: Unit(parts[0]), Role: Role(parts[1]), Label: parts[2]}
		if err := c.check(); err != nil || name == "" || name == "-" || c.Role == "" {
			panic(fmt.Sprintf(`table: field %s of %v: write a json tag with the name, and table:"UNIT,ROLE" (%v)`, f.Name, t, err))
		}
		if slices.ContainsFunc(list, func(f field) bool { return f.Name == name }) {
			panic(fmt.Sprintf("table: two fields of %v are the column %s: give one another name", t, name))
		}
		list = append(list, field{c, f.Index})
	}
	return list
}

// ColumnsOf returns the columns of the type of `row`, or nil if `row` is nil. The value of
// `row` does not matter.
func ColumnsOf(row any) []Column {
	if row == nil {
		return nil
	}
	fields := fieldsOf(reflect.TypeOf(row))
	return lists.Make(len(fields), func(i int) Column { return fields[i].Column })
}

// Cells returns the cells of a row, in the order of [ColumnsOf]. If a value cannot be a
// cell, such as a number that is not finite, it returns an error that names the column.
func Cells(row any) ([]any, error) {
	v := reflect.ValueOf(row)
	var cells []any
	for _, f := range fieldsOf(v.Type()) {
		c, err := cellOf(v.FieldByIndex(f.index))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		cells = append(cells, c)
	}
	return cells, nil
}

// From returns a table with the given rows. The columns are those of [ColumnsOf] for the
// type of the rows.
func From[R any](rows []R) (*Table, error) {
	var zero R
	t := &Table{Columns: ColumnsOf(zero)}
	for i, r := range rows {
		cells, err := Cells(r)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t, nil
}

// cellOf converts a value to a cell. A time becomes a number of nanoseconds, a nil pointer
// becomes nil, and a json.Number keeps its digits.
func cellOf(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case simtime.Time:
		return json.Number(x.AppendIn(nil, simtime.Nanosecond)), nil
	case json.Number:
		return x, nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return json.Number(strconv.FormatUint(v.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return Float(v.Float())
	}
	return nil, fmt.Errorf("a %v is no cell: use a string, a number, a bool or a time", v.Type())
}

// Float converts x to a cell, with the fewest digits that identify x. It returns an error
// if x is not finite.
func Float(x float64) (any, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v is no number that a table can hold", x)
	}
	text, err := json.Marshal(x)
	return json.Number(text), err
}
