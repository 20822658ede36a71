//go:build !amd64

package comm

// pause does nothing. On amd64 it is a hint to the processor that the code polls.
func pause() {}
