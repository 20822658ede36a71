package torch

import "slices"

// Setting is the value of type T among the Settings that the context was made with: how
// packages that build on this one find what a user has chosen for them.
func Setting[T any](c *Context) (value T, ok bool) {
	for _, s := range c.options.Settings {
		if value, ok = s.(T); ok {
			return value, true
		}
	}
	return value, false
}

// Uses notes that a configuration beside the system's had to do with the result: what
// it is for, where it is from, and its hash. Each is noted once.
func (c *Context) Uses(kind, source, hash string) {
	if u := (Used{kind, source, hash}); !slices.Contains(c.Report.Used, u) {
		c.Report.Used = append(c.Report.Used, u)
	}
}

// Used is a configuration that had to do with a result.
type Used struct{ Kind, Source, Hash string }
