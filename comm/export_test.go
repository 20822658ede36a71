package comm

// WithContextVersion returns a copy of the options. A rank that is opened with this copy
// behaves like a build with context version v.
func (o Options) WithContextVersion(v uint32) Options {
	o.contextVersion = v
	return o
}
