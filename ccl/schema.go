package ccl

import (
	_ "embed"
	"slices"
)

// schema is generated from the types of config.go by the tests of this package, which
// also hold it against the loader: go test ./ccl -update rewrites it.
//
//go:embed ccl.schema.json
var schema []byte

// Schema is the JSON Schema of ccl.yaml, for editors. It does not know the algorithms,
// since a program may add its own, nor rules between several values.
func Schema() []byte { return slices.Clone(schema) }
