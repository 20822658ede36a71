package tl

import (
	"maps"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Caller is the line of kernel code that called into this package: the innermost
// frame outside of it, as "matmul.go:41". A machine calls it from its methods, for
// the op log and for reports of deadlocks; it is "" where no kernel is running.
func Caller() string {
	var pcs [5]uintptr // as many as a machine and this package usually have, and the kernel
	inside := false
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			s := siteOf(pc)
			if !s.passed && inside {
				return s.line
			}
			inside = inside || s.tl
		}
		if n < len(pcs) {
			return ""
		}
	}
}

// site is what Caller wants to know of a return address.
type site struct {
	line   string
	tl     bool // in this package
	passed bool // in this package, a transport, or the runtime running a deferred call
}

// transport begins the names of functions that stand for Send and Recv of this package: the
// line of the kernel that calls them is the one wanted.
const transport = "github.com/kernbench/kernbench/ccl.(*Transport)."

// sites remembers every address met so far. Readers never wait; a program has few
// enough call sites that writers can copy the map.
var (
	sites     atomic.Pointer[map[uintptr]site]
	sitesLock sync.Mutex
)

func siteOf(pc uintptr) site {
	if m := sites.Load(); m != nil {
		if s, ok := (*m)[pc]; ok {
			return s
		}
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	s := site{line: filepath.Base(frame.File) + ":" + strconv.Itoa(frame.Line)}
	s.tl = strings.HasPrefix(frame.Function, "github.com/kernbench/kernbench/tl.")
	s.passed = s.tl || strings.HasPrefix(frame.Function, "runtime.") || strings.HasPrefix(frame.Function, transport)

	sitesLock.Lock()
	defer sitesLock.Unlock()
	next := map[uintptr]site{}
	if m := sites.Load(); m != nil {
		next = maps.Clone(*m)
	}
	next[pc] = s
	sites.Store(&next)
	return s
}
