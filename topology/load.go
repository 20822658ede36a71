package topology

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// File is the description that Load reads when it is not told which.
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

// Load reads a system: a file of that name if there is one, else the preset.
// With an empty name it is ./topology.yaml if there is one, else the preset
// default; [Spec.Source] says which it was. Each of sets changes one value, as
// "cube.hbm.channels=16". The error has a line for every mistake; it is the cause of ctx if
// ctx ends before all is read.
func Load(ctx context.Context, name string, sets ...string) (*Spec, error) {
	return file.Load(ctx, name, sets...)
}

// Parse is like Load for a text in memory, which may extend presets but no
// files. Errors call it by the name given.
func Parse(name string, src []byte, sets ...string) (*Spec, error) {
	return file.Parse(name, src, sets...)
}

// Preset reads one of the systems that come with the package.
func Preset(name string) (*Spec, error) { return file.Preset(name) }

// Presets lists the systems that come with the package.
func Presets() []string { return file.Names() }

// PresetSource returns the text of a preset, with the reasons for its numbers.
func PresetSource(name string) ([]byte, error) { return file.Source(name) }

// Source returns where the spec was loaded from: a path or "preset NAME", and each
// --set argument, as in "preset default, --set cube.hbm.channels=16"; "" for a
// spec made in Go.
func (s *Spec) Source() string { return s.origin.Name() }

// Origin says which configuration a result was made with.
type Origin struct {
	Source string `json:"source"` // a path or "preset NAME", and what --set changed
	Hash   string `json:"hash"`   // of the effective configuration
}

// OriginOf returns the origin of a configuration: of a system, of collectives or of tasks.
func OriginOf(c interface {
	Source() string
	Hash() string
}) Origin {
	return Origin{Source: c.Source(), Hash: c.Hash()}
}

// String returns the source and the hash: "preset ring6 (hash 0123)".
func (o Origin) String() string { return fmt.Sprintf("%s (hash %s)", o.Source, o.Hash) }

// Files lists the files that the spec was loaded from: the one asked for, and those
// that it extends. Presets are none.
func (s *Spec) Files() []string { return s.origin.Files() }

// YAML returns the spec as a complete file, which loads to an equal one.
func (s *Spec) YAML() []byte { return config.Encode(s, config.Quantities) }

// Hash identifies the system: specs that describe the same one have the same
// hash, whatever files and arguments they came from.
func (s *Spec) Hash() string { return config.Digest(s.YAML()) }

// Validate checks a spec made or changed in Go as if it were a file, and fills
// in the sides of a SIP grid as Load does. Errors show the lines of [Spec.YAML].
func (s *Spec) Validate() error {
	t, err := Parse("spec", s.YAML())
	if err != nil {
		return err
	}
	s.System.SIPs.W, s.System.SIPs.H = t.System.SIPs.W, t.System.SIPs.H
	return nil
}

// schema is generated from the types of this package by its tests, which also
// hold it against the loader: go test ./topology -update rewrites it.
//
//go:embed topology.schema.json
var schema []byte

// Schema is the JSON Schema of a description, for editors. It knows the keys,
// units and limits; rules between several values only the loader knows.
func Schema() []byte { return slices.Clone(schema) }
