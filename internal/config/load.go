package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
)

// Presets is the configurations that a program carries, by name. One is called "default".
type Presets map[string][]byte

// maxChain is how many files may extend one another.
const maxChain = 16

// Names lists the presets in alphabetical order.
func (p Presets) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Source returns the text of a preset.
func (p Presets) Source(name string) ([]byte, error) {
	if text, ok := p[name]; ok {
		return slices.Clone(text), nil
	}
	names := p.Names()
	return nil, fmt.Errorf("no preset %s; presets: %s%s", quote(name), strings.Join(names, ", "), DidYouMean(name, names))
}

// Load reads what the user asked for, with its extends and --set arguments
// applied: a file if there is one of that name, else a preset. Without a name it
// is the usual file if there is one, else the preset default. A file that exists
// but cannot be read is an error, never passed over. The one exception is the usual file
// that standard output goes to and that is still empty: the output is to become the file.
func (p Presets) Load(ctx context.Context, name, usual string, sets ...string) (*Doc, error) {
	if name == "" {
		switch there, err := usualExists(usual); {
		case err != nil:
			return nil, err
		case !there:
			return p.preset("default", sets)
		}
		name = usual
	}
	info, err := os.Lstat(name)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case p[name] != nil && (missing || err == nil && info.IsDir()):
		return p.preset(name, sets)
	case missing:
		_, err := p.Source(name)
		return nil, fmt.Errorf("no file %s and %w", name, err)
	}
	text, err := ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	d, err := p.build(ctx, name, text, chain{filepath.Clean(name)}, sets)
	if err == nil {
		d.sources[0].file = true
	}
	return d, err
}

// usualExists reports whether there is anything to read under the name of the usual
// file. The other ending of YAML files is a slip, which must not go unnoticed.
func usualExists(usual string) (bool, error) {
	_, err := os.Lstat(usual)
	if !errors.Is(err, fs.ErrNotExist) {
		return err == nil && !emptied(usual), err
	}
	stem := strings.TrimSuffix(usual, ".yaml")
	if _, err := os.Lstat(stem + ".yml"); err == nil && !emptied(stem+".yml") {
		return false, fmt.Errorf("found %s.yml: name it %s or pass --%s %s.yml", stem, usual, stem, stem)
	}
	return false, nil
}

// emptied reports whether a file is the one that standard output goes to, and empty, as the
// shell makes it for `kernbench ccl show --format yaml > ccl.yaml`.
func emptied(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && file.IsStdout(info)
}

func (p Presets) preset(name string, sets []string) (*Doc, error) {
	text, err := p.Source(name)
	if err != nil {
		return nil, err
	}
	return p.build(context.Background(), presetFile(name), text, chain{presetFile(name)}, sets)
}

// Parse is like Load for a text in memory, which may extend presets only.
func (p Presets) Parse(file string, text []byte, sets ...string) (*Doc, error) {
	return p.build(context.Background(), file, text, nil, sets)
}

func (p Presets) build(ctx context.Context, file string, text []byte, from chain, sets []string) (*Doc, error) {
	d, err := p.extended(ctx, file, text, from)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		d.Set(set)
	}
	return d, nil
}

// chain is the files that extend one another, from the one asked for; nil for a
// text in memory, from which no file can be reached.
type chain []string

// extended parses a text and lays it over what it extends.
func (p Presets) extended(ctx context.Context, file string, text []byte, from chain) (*Doc, error) {
	d, err := Parse(file, text)
	if err != nil || d.extends == nil {
		return d, err
	}
	baseFile, baseText, err := p.open(ctx, d.extends, from)
	if err != nil {
		d.fail(d.extends.at, "extends", "%v", err)
		return nil, d.errs.Err()
	}
	base, err := p.extended(ctx, baseFile, baseText, append(slices.Clone(from), baseFile))
	if err != nil {
		return nil, err
	}
	base.sources[0].file = isPath(d.extends.text)
	d.Extend(base)
	return d, nil
}

// open finds what an extends key names: a preset if it is a bare word, else a
// file, relative to the one that extends it.
func (p Presets) open(ctx context.Context, n *node, from chain) (name string, text []byte, err error) {
	presets := strings.Join(p.Names(), ", ")
	if n.kind != scalar || n.tag != "!!str" {
		return "", nil, fmt.Errorf("expected a preset or a file to extend, got %s; presets: %s", n.describe(), presets)
	}
	name = n.text
	switch {
	case !isPath(name):
		name = presetFile(name)
	case from == nil:
		return "", nil, fmt.Errorf("a text in memory can extend presets only: %s", presets)
	case !filepath.IsAbs(name):
		name = filepath.Join(filepath.Dir(from[len(from)-1]), name)
	}
	switch {
	case slices.Contains(from, name):
		return "", nil, fmt.Errorf("a cycle: %s", strings.Join(append(from, name), " extends "))
	case len(from) >= maxChain:
		return "", nil, fmt.Errorf("more than %d files extend one another", maxChain)
	case !isPath(n.text):
		if text, err = p.Source(n.text); err != nil && from != nil {
			err = fmt.Errorf("%w%s", err, fileInstead(filepath.Dir(from[len(from)-1]), n.text))
		}
	default:
		text, err = ReadFile(ctx, name)
	}
	return name, text, err
}

// fileInstead is the end of a message about a bare word that is no preset, when
// something of that name lies beside the file that extends it.
func fileInstead(dir, name string) string {
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return fmt.Sprintf("; %s is a directory", name)
	}
	return fmt.Sprintf("; for the file write ./%s", name)
}

// isPath reports whether a name can only be a file's.
func isPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Digest identifies a text by twelve hexadecimal digits.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func presetFile(name string) string { return "preset " + name }

// ReadFile reads a file for Parse, of at most maxSize bytes. The error for a file that does
// not exist is fs.ErrNotExist.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	text, err := file.Read(ctx, name, maxSize)
	switch {
	case errors.As(err, new(*file.LimitError)):
		return nil, Errors{tooLarge(&source{name: name})}
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(name); err == nil {
			return nil, noFile(fmt.Sprintf("%s is a link to %s, which does not exist", name, target))
		}
		return nil, noFile("no file " + name)
	}
	if err == nil && emptied(name) {
		return nil, fmt.Errorf("standard output goes to %s, which is read, and the shell has emptied it: send it to another file", name)
	}
	return text, err
}

// noFile is the message for a file that does not exist.
type noFile string

func (e noFile) Error() string { return string(e) }

// Is reports that the error is fs.ErrNotExist.
func (e noFile) Is(target error) bool { return target == fs.ErrNotExist }

// File is a kind of configuration: the presets there are, the file that is read if none is
// named, and how a T is made of what was read.
type File[T any] struct {
	Presets
	Usual   string         // "topology.yaml"
	New     func(*Doc) *T  // an empty one, which keeps where its values come from
	Scalars func() Scalars // nil: Quantities
	// Check, if set, checks what was read together with its mistakes so far, and returns all of them.
	Check func(*T, Errors) error
}

// Load reads what the user asked for, until ctx ends; see Presets.
func (f File[T]) Load(ctx context.Context, name string, sets ...string) (*T, error) {
	return f.decode(f.Presets.Load(ctx, name, f.Usual, sets...))
}

// Parse is like Load for a text in memory, which may extend presets only.
func (f File[T]) Parse(file string, text []byte, sets ...string) (*T, error) {
	return f.decode(f.Presets.Parse(file, text, sets...))
}

// Preset reads a preset.
func (f File[T]) Preset(name string) (*T, error) { return f.decode(f.preset(name, nil)) }

// Default reads the preset default, which is known to be there and right, being part of the program.
func (f File[T]) Default() *T {
	t, err := f.Preset("default")
	if err != nil {
		panic(fmt.Sprintf("config: preset default: %v", err))
	}
	return t
}

// decode makes a T of what was read.
func (f File[T]) decode(d *Doc, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	t, scalars := f.New(d), Quantities
	if f.Scalars != nil {
		scalars = f.Scalars()
	}
	err = d.Decode(t, scalars)
	if f.Check != nil {
		errs, _ := err.(Errors)
		err = f.Check(t, errs)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}
