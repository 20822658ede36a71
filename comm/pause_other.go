//go:build !amd64

package comm

// pause would tell the processor that this is a loop that waits.
func pause() {}
