package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kernbench/kernbench/internal/file"
)

// Decode reads one JSON object and nothing else. Its numbers keep their text.
func Decode(r io.Reader) (Record, error) {
	d := file.NewDecoder(r)
	d.UseNumber()
	v, err := decodeValue(d, deepest)
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

// deepest bounds how deep values may lie within others. No result comes near.
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
		o := Record{}
		for d.More() {
			name, err := decodeValue(d, deeper-1)
			if err != nil {
				return nil, err
			}
			value, err := decodeValue(d, deeper-1)
			if err != nil {
				return nil, err
			}
			o = append(o, Member{name.(string), value})
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
	_, err := d.Token()
	return broken(err)
}

// broken returns an error of a decoder for people.
func broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends in the middle: the file was cut off")
	}
	return fmt.Errorf("no JSON: %w", err)
}
