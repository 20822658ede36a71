package ccl

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/kernbench/kernbench/internal/config"
)

// File is the configuration file that Load reads if no name is given.
const File = "ccl.yaml"

//go:embed ccl.yaml
var defaultFile []byte

var file = config.File[Config]{Presets: config.Presets{"default": defaultFile}, DefaultFile: File, New: func(d *config.Doc) *Config { return &Config{origin: d} }, Scalars: scalars, Check: (*Config).check}

// Load reads a configuration: the file with the given name, or the preset "default". With
// an empty name it reads ./ccl.yaml if that file exists, and otherwise the preset.
// [Config.Source] returns which of the two was read. Each of `sets` changes one value, as
// in "defaults.buffer_kind=hbm". The error has a line for every mistake. If ctx ends before
// everything is read, the error is the cause of ctx.
func Load(ctx context.Context, name string, sets ...string) (*Config, error) {
	c, err := file.Load(ctx, name, sets...)
	if err == nil {
		c.update(ctx)
	}
	return c, err
}

// Parse reads a configuration from src. The text may extend the preset, but no files. Each
// of `sets` changes one value, as in Load. Errors refer to the text as `name`.
func Parse(name string, src []byte, sets ...string) (*Config, error) {
	c, err := file.Parse(name, src, sets...)
	if err == nil {
		c.update(context.Background())
	}
	return c, err
}

// Default returns the configuration that ships with the package.
func Default() *Config { return file.Default() }

// embeddedEntries returns the names of the entries of the embedded file.
var embeddedEntries = sync.OnceValue(func() []string { return Default().Names() })

// scalars returns the syntax of scalar values in ccl.yaml: the syntax of the topology's
// values, and the names of algorithms. The names are auto and the algorithms that are
// registered so far. The value of defaults.algorithm may also name an entry; [Config.check]
// looks up that name after all entries have been read.
func scalars() config.Scalars {
	s := maps.Clone(config.Quantities)
	config.DefineWords(s, append(Names(), Auto))
	config.Define(s, algorithmOrEntry(), func(text string) (AlgorithmOrEntry, error) {
		if text == "" {
			return "", fmt.Errorf("unknown word %q: write %s", text, algorithmOrEntry())
		}
		return AlgorithmOrEntry(text), nil
	}, func(v AlgorithmOrEntry) string { return string(v) })
	return s
}

// algorithmOrEntry describes, for error messages, which values defaults.algorithm may have.
func algorithmOrEntry() string {
	return "one of " + strings.Join(append(Names(), Auto), ", ") + ", or the name of an entry of algorithms"
}

// Source returns where the configuration was loaded from: a path or "preset default", and
// each --set argument. It returns "" for a configuration made in Go.
func (c *Config) Source() string { return c.origin.Name() }

// Files lists the files that the configuration was loaded from: the file itself and the
// files that it extends. Presets are not files.
func (c *Config) Files() []string { return c.origin.Files() }

// YAML encodes the configuration as a complete file. Loading that file gives an equal
// configuration.
func (c *Config) YAML() []byte { return config.Encode(c, scalars()) }

// Hash identifies the contents of the configuration. Two configurations that give every
// name the same settings have the same hash, whatever files and arguments they were loaded
// from.
func (c *Config) Hash() string {
	var text []byte
	for _, name := range append(c.Names(), "") {
		e, _ := c.entry(name)
		text = fmt.Appendf(text, "%s %+v\n", name, c.settings(e))
	}
	return config.Digest(text)
}

// schema is generated from the types of config.go by the tests of this package, which also
// compare it with the loader: go test ./ccl -update rewrites it.
//
//go:embed ccl.schema.json
var schema []byte

// Schema returns the JSON Schema of ccl.yaml, for editors. It does not contain the names of
// algorithms, because a program may register its own, nor rules that involve several
// values.
func Schema() []byte { return slices.Clone(schema) }
