package comm

// WithContextVersion is the options of a rank that was built from another version.
func (o Options) WithContextVersion(v uint32) Options {
	o.contextVersion = v
	return o
}
