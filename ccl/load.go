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

// File is the configuration that Load reads when it is not told which.
const File = "ccl.yaml"

//go:embed ccl.yaml
var defaultFile []byte

var file = config.File[Config]{Presets: config.Presets{"default": defaultFile}, Usual: File, New: func(d *config.Doc) *Config { return &Config{origin: d} }, Scalars: scalars, Check: (*Config).check}

// Load reads a configuration: a file of that name, or the preset default. With an
// empty name it is ./ccl.yaml if there is one, else the preset; [Config.Source] says
// which it was. Each of sets changes one value, as "defaults.buffer_kind=hbm". The
// error has a line for every mistake; it is the cause of ctx if ctx ends before all is read.
func Load(ctx context.Context, name string, sets ...string) (*Config, error) {
	c, err := file.Load(ctx, name, sets...)
	if err == nil {
		c.update(ctx)
	}
	return c, err
}

// Parse is like Load for a text in memory, which may extend the preset but no files.
// Errors call it by the name given.
func Parse(name string, src []byte, sets ...string) (*Config, error) {
	c, err := file.Parse(name, src, sets...)
	if err == nil {
		c.update(context.Background())
	}
	return c, err
}

// Default returns the configuration that comes with the package.
func Default() *Config { return file.Default() }

// embeddedEntries returns the names of the entries of the embedded file.
var embeddedEntries = sync.OnceValue(func() []string { return Default().Names() })

// scalars returns the syntax of values: that of the topology, and the names of the
// algorithms that are registered by now, or auto, which are the only texts. The name in
// defaults may be an entry's: [Config.check] looks for it when all entries have been read.
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

// algorithmOrEntry says in errors what defaults.algorithm may be.
func algorithmOrEntry() string {
	return "one of " + strings.Join(append(Names(), Auto), ", ") + ", or the name of an entry of algorithms"
}

// Source returns where the configuration was loaded from: a path or "preset default", and
// each --set argument; "" for one made in Go.
func (c *Config) Source() string { return c.origin.Name() }

// Files lists the files that the configuration was loaded from: the one asked for, and those
// that it extends. Presets are none.
func (c *Config) Files() []string { return c.origin.Files() }

// YAML returns the configuration as a complete file, which loads to an equal one.
func (c *Config) YAML() []byte { return config.Encode(c, scalars()) }

// Hash identifies what the configuration says: those that give every name the same
// settings have the same hash, whatever files and arguments they came from.
func (c *Config) Hash() string {
	var text []byte
	for _, name := range append(c.Names(), "") {
		e, _ := c.entry(name)
		text = fmt.Appendf(text, "%s %+v\n", name, c.settings(e))
	}
	return config.Digest(text)
}

// schema is generated from the types of config.go by the tests of this package, which
// also hold it against the loader: go test ./ccl -update rewrites it.
//
//go:embed ccl.schema.json
var schema []byte

// Schema returns the JSON Schema of ccl.yaml, for editors. It does not know the algorithms,
// since a program may add its own, nor rules between several values.
func Schema() []byte { return slices.Clone(schema) }
