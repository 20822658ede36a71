package table

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
)

// Schema has the columns of the tables in a JSON object, by the name of the member that
// holds the table: a list of objects, or one object.
type Schema map[string][]Column

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // names of links contain ->
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// MarshalJSON encodes the rows as a list of objects, with members in the order of the
// columns.
func (t *Table) MarshalJSON() ([]byte, error) {
	return json.Marshal(lists.Make(len(t.Rows), t.Record))
}

// Record returns a row as a JSON object.
func (t *Table) Record(row int) Record {
	return lists.Make(len(t.Columns), func(i int) Member { return Member{t.Columns[i].Name, t.Rows[row][i]} })
}

// FromRecords returns a table with a row for each object. Its columns are the given
// columns, then other members of the objects in the order of their first occurrence. For an
// object within an object, each member is a column whose name is both names joined by a
// dot. Lists are left out.
func FromRecords(columns []Column, records []Record) *Table {
	t := &Table{Columns: append([]Column(nil), columns...)}
	index := map[string]int{}
	for i, c := range columns {
		index[c.Name] = i
	}
	for _, r := range records {
		row := make([]any, len(t.Columns))
		for _, m := range r.Flat() {
			i, known := index[m.Name]
			if !known {
				i = len(t.Columns)
				index[m.Name] = i
				t.Columns = append(t.Columns, Column{Name: m.Name})
				row = append(row, nil)
			}
			row[i] = m.Value
		}
		t.Rows = append(t.Rows, row)
	}
	for i, row := range t.Rows {
		t.Rows[i] = append(row, make([]any, len(t.Columns)-len(row))...)
	}
	t.adoptUnits()
	return t
}

// ReadSchema returns the schema in the member "schema" of an object. The schema is empty if
// the object has no such member.
func ReadSchema(o Record) (Schema, error) {
	s := Schema{}
	tables, _ := o.Get("schema").(Record)
	for _, m := range tables {
		list, _ := m.Value.([]any)
		for _, v := range list {
			c, _ := v.(Record)
			column := Column{Text(c.Get("name")), Unit(Text(c.Get("unit"))), Role(Text(c.Get("role"))), Text(c.Get("label"))}
			if err := column.check(); err != nil {
				return nil, err
			}
			s[m.Name] = append(s[m.Name], column)
		}
	}
	return s, nil
}

// ReadJSON returns the tables in o, the output of a command with --format json. The first
// table is that of the member "rows" and has the name "". The other tables of the schema
// follow. Tables without rows are left out. If no table is left, ReadJSON returns an error.
func ReadJSON(o Record, schema Schema) ([]Named, error) {
	var tables []Named
	for _, m := range o {
		columns, declared := schema[m.Name]
		if !declared && m.Name != "rows" {
			continue
		}
		list, ok := m.Value.([]any)
		if one, is := m.Value.(Record); is {
			list, ok = []any{one}, true
		}
		if !ok {
			return nil, fmt.Errorf("%q is no table: neither a list nor an object", m.Name)
		}
		var records []Record
		for i, v := range list {
			r, ok := v.(Record)
			if !ok {
				return nil, fmt.Errorf("row %d of %q is no object", i+1, m.Name)
			}
			records = append(records, r)
		}
		if len(records) == 0 {
			continue
		}
		t := Named{Name: m.Name, Table: FromRecords(columns, records)}
		if m.Name == "rows" {
			t.Name = ""
			tables = append([]Named{t}, tables...)
			continue
		}
		tables = append(tables, t)
	}
	switch {
	case len(tables) > 0:
		return tables, nil
	case o.Get("rows") == nil:
		return nil, errors.New(`no "rows": it is not what run, coll, sweep or probe print with --format json`)
	}
	return nil, errors.New("no rows in it")
}

// Member is a member of a JSON object: a name and a value.
type Member struct {
	Name  string
	Value any // a cell, a Record or a []any
}

// Record is a JSON object with its members in order.
type Record []Member

// Get returns the value of the member with the given name, or nil if there is none.
func (r Record) Get(name string) any {
	for _, m := range r {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Flat returns the members of an object that are cells. If a member is itself an object,
// Flat includes the cells of that object; the name of such a cell is the name of the member
// and the name of the cell, joined by a dot. Lists are left out.
func (r Record) Flat() Record {
	cells := Record{}
	for _, m := range r {
		switch v := m.Value.(type) {
		case Record:
			for _, inner := range v.Flat() {
				cells = append(cells, Member{m.Name + "." + inner.Name, inner.Value})
			}
		case []any:
		default:
			cells = append(cells, m)
		}
	}
	return cells
}

// MarshalJSON encodes the object, with its members in order.
func (r Record) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range r {
		if i > 0 {
			b = append(b, ',')
		}
		name, nameErr := Marshal(m.Name)
		value, valueErr := Marshal(m.Value)
		if err := cmp.Or(nameErr, valueErr); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// Marshal encodes a value as JSON on one line. It does not escape < and >.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON decodes an object and keeps the order of its members.
func (r *Record) UnmarshalJSON(text []byte) (err error) {
	*r, err = Decode(bytes.NewReader(text))
	return err
}

// Decode reads one JSON object from r and returns an error if anything follows it. Numbers
// keep their text.
func Decode(r io.Reader) (Record, error) {
	d := file.NewDecoder(r)
	d.UseNumber()
	v, err := decodeValue(d, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more text behind the JSON")
	}
	o, ok := v.(Record)
	if !ok {
		return nil, errors.New("JSON, but no object with results")
	}
	return o, nil
}

// maxDepth is the largest depth of nested values. Results are much less deep.
const maxDepth = 100

// decodeValue reads a JSON value, in which values may be nested at most `depth` deep. It
// reads the names and values of an object as it reads the elements of a list.
func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("values within values, more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, explainError(err)
	}
	if _, opens := token.(json.Delim); !opens {
		return token, nil
	}
	list := []any{}
	for d.More() {
		value, err := decodeValue(d, depth-1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return nil, explainError(err)
	}
	if token == json.Delim('[') {
		return list, nil
	}
	return Record(lists.Make(len(list)/2, func(i int) Member { return Member{list[2*i].(string), list[2*i+1]} })), nil
}

// explainError returns an error that says in plain words why a JSON decoder returned err.
func explainError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends in the middle: the file was cut off")
	}
	return fmt.Errorf("no JSON: %w", err)
}
