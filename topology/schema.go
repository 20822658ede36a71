package topology

import (
	_ "embed"
	"slices"
)

// schema is generated from the types of this package by its tests, which also
// hold it against the loader: go test ./topology -update rewrites it.
//
//go:embed topology.schema.json
var schema []byte

// Schema is the JSON Schema of a description, for editors. It knows the keys,
// units and limits; rules between several values only the loader knows.
func Schema() []byte { return slices.Clone(schema) }
