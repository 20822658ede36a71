package comm

// WithContextVersion returns the options changed such that the rank behaves like a build
// with context version v.
func (o Options) WithContextVersion(v uint32) Options {
	o.contextVersion = v
	return o
}
