package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kernbench/kernbench/internal/file"
)

// member is a name and a value of a JSON object.
type member struct {
	name  string
	value any // string, json.Number, bool, nil, object or []any
}

// object is a JSON object in the order in which it is written.
type object []member

// get is a value, nil if there is none.
func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// flat is the cells of an object: those of objects within it have names with a dot. Lists are
// no cells.
func (o object) flat() object {
	cells := object{}
	for _, m := range o {
		switch v := m.value.(type) {
		case object:
			for _, within := range v.flat() {
				cells = append(cells, member{m.name + "." + within.name, within.value})
			}
		case []any:
		default:
			cells = append(cells, m)
		}
	}
	return cells
}

// decode reads one value and nothing else.
func decode(r io.Reader) (any, error) {
	d := file.NewDecoder(r)
	d.UseNumber()
	v, err := decodeValue(d, deepest)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more text behind the JSON")
	}
	return v, nil
}

// decodeObject reads one object and nothing else.
func decodeObject(r io.Reader) (object, error) {
	v, err := decode(r)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("JSON, but no object with results")
	}
	return o, nil
}

// deepest is how deep values may lie within others: no result comes near.
const deepest = 100

func decodeValue(d *json.Decoder, deeper int) (any, error) {
	if deeper == 0 {
		return nil, fmt.Errorf("values within values, more than %d deep", deepest)
	}
	token, err := d.Token()
	if err != nil {
		return nil, broken(err)
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := decodeValue(d, deeper-1)
			if err != nil {
				return nil, err
			}
			value, err := decodeValue(d, deeper-1)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), value})
		}
		return o, closing(d)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := decodeValue(d, deeper-1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, closing(d)
	}
	return token, nil
}

// closing reads the end of an object or a list.
func closing(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	return nil
}

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends in the middle: the file was cut off")
	}
	return fmt.Errorf("no JSON: %w", err)
}
