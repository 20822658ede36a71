//go:build !linux

package collperf

// hostCPUs is none: ranks can be bound on Linux alone.
func hostCPUs() []int { return nil }

// hostMemory is not known.
func hostMemory() uint64 { return 0 }
