package torch

import (
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
)

// maxNesting is how many pointers, interfaces, slices, maps and structs of an object may be
// inside each other. Package encoding/gob calls itself for each, without end for an object
// that refers to itself.
const maxNesting = 200_000

// encoders is the interfaces of values that encode themselves.
var encoders = []reflect.Type{reflect.TypeFor[gob.GobEncoder](), reflect.TypeFor[encoding.BinaryMarshaler]()}

// checkObject returns an error for a value that package encoding/gob cannot encode, and does
// not refuse: one that refers to itself, or a nil pointer, which would arrive as a pointer to
// zeros.
func checkObject(v reflect.Value) error {
	if err := checkNesting(v, 0); err != nil {
		return err
	}
	for v.Kind() == reflect.Pointer {
		if v = v.Elem(); !v.IsValid() {
			return errors.New("it is a nil pointer")
		}
	}
	return nil
}

// checkNesting returns an error for a value that refers to itself, or is nested too deeply.
// It looks at what package encoding/gob encodes.
func checkNesting(v reflect.Value, depth int) (err error) {
	if depth > maxNesting {
		return fmt.Errorf("it refers to itself, or is nested more than %d deep", maxNesting)
	}
	if !v.IsValid() || !nests(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return checkNesting(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil && nests(v.Type().Elem()); i++ {
			err = checkNesting(v.Index(i), depth+1)
		}
	case reflect.Map:
		for i := v.MapRange(); err == nil && i.Next(); {
			if err = checkNesting(i.Key(), depth+1); err == nil {
				err = checkNesting(i.Value(), depth+1)
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if v.Type().Field(i).IsExported() {
				err = checkNesting(v.Field(i), depth+1)
			}
		}
	}
	return err
}

// nests reports whether values of a type may have others inside that gob encodes.
func nests(t reflect.Type) bool {
	for _, e := range encoders {
		if t.Implements(e) || reflect.PointerTo(t).Implements(e) {
			return t.Kind() == reflect.Interface
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return true
	}
	return false
}
