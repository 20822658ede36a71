package config

import (
	"context"
	"slices"
	"strings"
)

// Canonical returns the known name that matches a word: the word itself if it is known,
// else the first known name that differs from it only in _, - and case. It reports whether
// there is a match.
func Canonical(word string, known []string) (name string, ok bool) {
	if slices.Contains(known, word) {
		return word, true
	}
	i := slices.IndexFunc(known, func(k string) bool { return plain.Replace(strings.ToLower(k)) == plain.Replace(strings.ToLower(word)) })
	if i < 0 {
		return "", false
	}
	return known[i], true
}

// plain removes the characters that Canonical ignores.
var plain = strings.NewReplacer("_", "", "-", "")

// Resolve returns the results of Canonical. If `word` is spelled differently from the known
// name, it also reports the old spelling with [Renamed].
func Resolve(ctx context.Context, word string, known []string) (name string, ok bool) {
	if name, ok = Canonical(word, known); ok {
		Renamed(ctx, word, name)
	}
	return name, ok
}

// renamedKey is the context key of the function that [Renamed] calls.
type renamedKey struct{}

// WithRenamed returns a context in which the function `report` is called for every old
// spelling of a name. Several goroutines may call `report` at the same time, and it may be
// called several times for the same spelling.
func WithRenamed(ctx context.Context, report func(old, name string)) context.Context {
	return context.WithValue(ctx, renamedKey{}, report)
}

// ReportsRenamed reports whether ctx comes from [WithRenamed].
func ReportsRenamed(ctx context.Context) bool { return ctx.Value(renamedKey{}) != nil }

// Renamed calls the function that was given to [WithRenamed] with an old spelling and the
// name, if ctx has such a function and the two differ. ctx may be nil, because help is
// printed without a context.
func Renamed(ctx context.Context, old, name string) {
	if ctx == nil || old == name {
		return
	}
	if report, ok := ctx.Value(renamedKey{}).(func(old, name string)); ok {
		report(old, name)
	}
}
