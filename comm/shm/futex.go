//go:build linux

package shm

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexOpWait = 0
	futexOpWake = 1
)

// futexWait sleeps while a word has a value, at most for d. It may return early.
func futexWait(w *uint32, v uint32, d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWait, uintptr(v), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// futexWake wakes who sleeps on a word.
func futexWake(w *uint32) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWake, 1<<30, 0, 0, 0)
}

// yield lets others have the core: goroutines of this process, then other processes.
func yield() {
	runtime.Gosched()
	unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}
