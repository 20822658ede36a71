package torch

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
