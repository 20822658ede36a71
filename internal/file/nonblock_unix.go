//go:build unix

package file

import "syscall"

// nonblock opens a FIFO without waiting for the process at its other end.
const nonblock = syscall.O_NONBLOCK
