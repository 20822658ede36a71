package torch

import "reflect"

// Local is the value of type T that belongs to the calling rank, zero until somebody
// has set it: what a package that builds on this one keeps for each worker of Spawn,
// whose goroutine it shares. It ends with the worker.
func Local[T any](c *Context) *T {
	w := c.current
	refuse(w == nil, "Local", "called from a kernel")
	kind := reflect.TypeFor[T]()
	if value, ok := w.locals[kind]; ok {
		return value.(*T)
	}
	value := new(T)
	w.locals[kind] = value
	return value
}

// Setting returns the value of type T among the Settings that the context was made with.
// Packages that build on this one find there what a user has chosen for them.
func Setting[T any](c *Context) (value T, ok bool) {
	for _, s := range c.options.Settings {
		if value, ok = s.(T); ok {
			return value, true
		}
	}
	return value, false
}
