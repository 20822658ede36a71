//go:build !linux

package host

// CPUs returns nil: ranks can be bound only on Linux.
func CPUs() []int { return nil }
