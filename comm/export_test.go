package comm

// WithContextVersion returns options with which a rank behaves like a build with another
// context version.
func (o Options) WithContextVersion(v uint32) Options {
	o.contextVersion = v
	return o
}
