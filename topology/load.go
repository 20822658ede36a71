package topology

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// File is the name of the description that Load reads if it gets an empty name.
const File = "topology.yaml"

//go:embed presets/*.yaml
var presetFiles embed.FS

var file = func() config.File[Spec] {
	presets := config.Presets{}
	files, err := presetFiles.ReadDir("presets")
	for _, f := range files {
		if presets[strings.TrimSuffix(f.Name(), ".yaml")], err = presetFiles.ReadFile("presets/" + f.Name()); err != nil {
			break
		}
	}
	if err != nil {
		panic(err) // the files are part of the program
	}
	return config.File[Spec]{Presets: presets, DefaultFile: File, New: func(d *config.Doc) *Spec { return &Spec{origin: d} }, Check: (*Spec).check}
}()

// Load reads a system: the file with this name if it exists, else the preset with this
// name. For an empty name it reads ./topology.yaml if it exists, else the preset default.
// [Spec.Source] returns which of them was read. Each element of sets changes one value,
// such as "cube.hbm.channels=16". The error has a line for every mistake. If ctx ends
// before all files are read, the error is the cause of ctx.
func Load(ctx context.Context, name string, sets ...string) (*Spec, error) {
	return file.Load(ctx, name, sets...)
}

// Parse reads a system from `src`, a text in memory, in the same way as Load reads a file.
// The text may extend presets but not files. `name` identifies the text in errors.
func Parse(name string, src []byte, sets ...string) (*Spec, error) {
	return file.Parse(name, src, sets...)
}

// Preset reads a system that comes with the package.
func Preset(name string) (*Spec, error) { return file.Preset(name) }

// Presets lists the names of the systems that come with the package.
func Presets() []string { return file.Names() }

// PresetSource returns the text of a preset, with the reasons for its numbers.
func PresetSource(name string) ([]byte, error) { return file.Source(name) }

// Source returns where the spec was loaded from: a path or "preset NAME", and each --set
// argument, as in "preset default, --set cube.hbm.channels=16". For a spec that was
// created in Go it returns "".
func (s *Spec) Source() string { return s.origin.Name() }

// Origin identifies the configuration of a result.
type Origin struct {
	Source string `json:"source"` // a path or "preset NAME", and the --set arguments
	Hash   string `json:"hash"`   // hash of the effective configuration
}

// OriginOf returns the origin of c, the configuration of a system, of collectives or of
// tasks.
func OriginOf(c interface {
	Source() string
	Hash() string
}) Origin {
	return Origin{Source: c.Source(), Hash: c.Hash()}
}

// String formats the source and the hash: "preset ring6 (hash 0123)".
func (o Origin) String() string { return fmt.Sprintf("%s (hash %s)", o.Source, o.Hash) }

// Files lists the files that the spec was loaded from: the requested file and the files
// that it extends. Presets are not listed.
func (s *Spec) Files() []string { return s.origin.Files() }

// YAML formats the spec as a complete file. Loading the file gives an equal spec.
func (s *Spec) YAML() []byte { return config.Encode(s, config.Quantities) }

// Hash returns a hash that identifies the system. Specs that describe the same system have
// the same hash, whatever files and arguments they were loaded from.
func (s *Spec) Hash() string { return config.Digest(s.YAML()) }

// Validate applies the checks of Load to a spec that was created or changed in Go. Like
// Load, it fills in the sides of a SIP grid. Errors show lines of [Spec.YAML].
func (s *Spec) Validate() error {
	t, err := Parse("spec", s.YAML())
	if err != nil {
		return err
	}
	s.System.SIPs.W, s.System.SIPs.H = t.System.SIPs.W, t.System.SIPs.H
	return nil
}

// schema is generated from the types of this package by its tests, which also compare it
// with the loader. go test ./topology -update rewrites it.
//
//go:embed topology.schema.json
var schema []byte

// Schema returns the JSON Schema of a description, for editors. It covers keys, units and
// limits. Only the loader checks rules between several values.
func Schema() []byte { return slices.Clone(schema) }
