//go:build !linux

package host

// CPUs returns nil: ranks can be bound on Linux alone.
func CPUs() []int { return nil }
