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

// Presets maps names to the texts of built-in configurations. One of them is "default".
type Presets map[string][]byte

// maxChain is the maximum length of a chain of files that extend one another.
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

// Load reads the file with the given name or, if there is no such file or it is a folder,
// the preset with that name. Without a name it reads defaultFile if that exists, else the
// preset default. It then applies extends and the --set arguments. A file that exists but
// cannot be read is an error. The only exception is an empty defaultFile to which standard
// output is redirected: it is ignored, because it will hold the output of the command.
func (p Presets) Load(ctx context.Context, name, defaultFile string, sets ...string) (*Doc, error) {
	if name == "" {
		switch exists, err := defaultFileExists(defaultFile); {
		case err != nil:
			return nil, err
		case !exists:
			return p.preset("default", sets)
		}
		name = defaultFile
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

// defaultFileExists reports whether the default file, whose name is `name`, exists and must
// be read. If only a file with the ending .yml instead of .yaml exists, the user has
// probably mistyped the name. This is an error.
func defaultFileExists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err == nil && !isEmptyStdout(name), err
	}
	stem := strings.TrimSuffix(name, ".yaml")
	if _, err := os.Lstat(stem + ".yml"); err == nil && !isEmptyStdout(stem+".yml") {
		return false, fmt.Errorf("found %s.yml: name it %s or pass --%s %s.yml", stem, name, stem, stem)
	}
	return false, nil
}

// isEmptyStdout reports whether a file is empty and standard output is redirected to it.
// The shell creates such a file for `kernbench ccl show --format yaml > ccl.yaml`.
func isEmptyStdout(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0 && file.IsStdout(info)
}

// preset reads the preset with the given name and applies --set arguments.
func (p Presets) preset(name string, sets []string) (*Doc, error) {
	text, err := p.Source(name)
	if err != nil {
		return nil, err
	}
	return p.build(context.Background(), presetFile(name), text, chain{presetFile(name)}, sets)
}

// Parse reads a configuration from a text in memory, and otherwise does what Load does. The
// text may extend only presets. `file` identifies the text in errors.
func (p Presets) Parse(file string, text []byte, sets ...string) (*Doc, error) {
	return p.build(context.Background(), file, text, nil, sets)
}

// build parses a text, merges it over the files or presets that it extends, and applies
// --set arguments.
func (p Presets) build(ctx context.Context, file string, text []byte, from chain, sets []string) (*Doc, error) {
	d, err := p.parseLayers(ctx, file, text, from)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		d.Set(set)
	}
	return d, nil
}

// chain is a list of files of which each extends the next, starting with the file that the
// user named. It is nil for a text in memory, which cannot extend files.
type chain []string

// parseLayers parses a text and merges it over the files or presets that it extends.
func (p Presets) parseLayers(ctx context.Context, file string, text []byte, from chain) (*Doc, error) {
	d, err := Parse(file, text)
	if err != nil || d.extends == nil {
		return d, err
	}
	baseFile, baseText, err := p.open(ctx, d.extends, from)
	if err != nil {
		d.fail(d.extends.at, "extends", "%v", err)
		return nil, d.errs.Err()
	}
	base, err := p.parseLayers(ctx, baseFile, baseText, append(slices.Clone(from), baseFile))
	if err != nil {
		return nil, err
	}
	base.sources[0].file = isPath(d.extends.text)
	d.Extend(base)
	return d, nil
}

// open reads the text that an extends key names, and returns the name and the text. n is
// the value of the key. A bare word names a preset. Any other name is the path of a file,
// relative to the file that contains the key. That file is the last one in the chain.
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
			err = fmt.Errorf("%w%s", err, fileHint(filepath.Dir(from[len(from)-1]), n.text))
		}
	default:
		text, err = ReadFile(ctx, name)
	}
	return name, text, err
}

// fileHint returns a hint for a message about `name`, a bare word that is not a preset.
// `dir` is the folder of the file with the extends key. If the folder contains a file or
// directory with that name, the hint says so. Otherwise the hint is "".
func fileHint(dir, name string) string {
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return fmt.Sprintf("; %s is a directory", name)
	}
	return fmt.Sprintf("; for the file write ./%s", name)
}

// isPath reports whether a name can only be the name of a file, not of a preset.
func isPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Digest returns a hash of a text, as twelve hexadecimal digits.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// presetFile returns the name of a preset in messages.
func presetFile(name string) string { return "preset " + name }

// ReadFile reads a file of at most maxSize bytes for Parse. The error for a file that does
// not exist matches fs.ErrNotExist. An empty file to which standard output is redirected is
// an error.
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
	if err == nil && isEmptyStdout(name) {
		return nil, fmt.Errorf("standard output goes to %s, which is read, and the shell has emptied it: send it to another file", name)
	}
	return text, err
}

// noFile is the error for a file that does not exist.
type noFile string

func (e noFile) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist, which the error stands for.
func (e noFile) Is(target error) bool { return target == fs.ErrNotExist }

// File is a kind of configuration file that is decoded into a T.
type File[T any] struct {
	Presets
	DefaultFile string         // the file that is read if the user names none: "topology.yaml"
	New         func(*Doc) *T  // returns an empty T that keeps the document, for positions
	Scalars     func() Scalars // nil means Quantities
	// Check checks a decoded T, given the mistakes found so far, and returns all mistakes.
	// It may be nil.
	Check func(*T, Errors) error
}

// Load reads a file or a preset and decodes it; see [Presets.Load]. It stops with an error
// when ctx ends.
func (f File[T]) Load(ctx context.Context, name string, sets ...string) (*T, error) {
	return f.decode(f.Presets.Load(ctx, name, f.DefaultFile, sets...))
}

// Parse reads a configuration from a text in memory, and otherwise does what Load does. The
// text may extend only presets. `file` identifies the text in errors.
func (f File[T]) Parse(file string, text []byte, sets ...string) (*T, error) {
	return f.decode(f.Presets.Parse(file, text, sets...))
}

// Preset reads and decodes the preset with the given name.
func (f File[T]) Preset(name string) (*T, error) { return f.decode(f.preset(name, nil)) }

// Default reads and decodes the preset default. It panics if the preset has mistakes,
// because the preset is part of the program.
func (f File[T]) Default() *T {
	t, err := f.Preset("default")
	if err != nil {
		panic(fmt.Sprintf("config: preset default: %v", err))
	}
	return t
}

// decode decodes and checks a document. If err is not nil, it returns err instead.
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
