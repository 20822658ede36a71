package task

import (
	_ "embed"
	"slices"
)

// schema is generated from the types of config.go by the tests of this package, which
// also hold it against the loader: go test ./task -update rewrites it.
//
//go:embed tasks.schema.json
var schema []byte

// Schema returns the JSON Schema of tasks.yaml, for editors. It does not know how long a time
// may be, nor that one is a whole number of femtoseconds.
func Schema() []byte { return slices.Clone(schema) }
