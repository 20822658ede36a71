//go:build !linux

package host

// CPUs is none: ranks can be bound on Linux alone.
func CPUs() []int { return nil }

// Memory is not known.
func Memory() uint64 { return 0 }
