package config

import (
	"context"
	"fmt"
)

// File is a kind of configuration: the presets there are, the file that is read if none is
// named, and how a T is made of what was read.
type File[T any] struct {
	Presets
	Usual  string // "topology.yaml"
	Decode func(*Doc) (T, error)
}

// Load reads what the user asked for, until ctx ends; see Presets.
func (f File[T]) Load(ctx context.Context, name string, sets ...string) (T, error) {
	return f.decode(f.Presets.Load(ctx, name, f.Usual, sets...))
}

// Parse is like Load for a text in memory, which may extend presets only.
func (f File[T]) Parse(file string, text []byte, sets ...string) (T, error) {
	return f.decode(f.Presets.Parse(file, text, sets...))
}

// Preset reads a preset.
func (f File[T]) Preset(name string) (T, error) { return f.decode(f.preset(name, nil)) }

// MustPreset reads a preset that is known to be there and right, being part of the program.
func (f File[T]) MustPreset(name string) T {
	t, err := f.Preset(name)
	if err != nil {
		panic(fmt.Sprintf("config: preset %s: %v", name, err))
	}
	return t
}

func (f File[T]) decode(d *Doc, err error) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return f.Decode(d)
}

// Used is a configuration that a result was made with.
type Used struct {
	Source string `json:"source"` // a path or "preset NAME", and what --set changed
	Hash   string `json:"hash"`   // of the effective configuration
}

// UsedBy returns the source and the hash of a configuration.
func UsedBy(c interface {
	Source() string
	Hash() string
}) Used {
	return Used{Source: c.Source(), Hash: c.Hash()}
}

// String returns the source and the hash: "preset ring6 (hash 0123)".
func (u Used) String() string { return fmt.Sprintf("%s (hash %s)", u.Source, u.Hash) }

// Line returns the line of a text report that names the configuration, without a newline.
func (u Used) Line(kind string) string { return fmt.Sprintf("# %s: %v", kind, u) }
