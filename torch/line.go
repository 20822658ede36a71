package torch

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// hostLine returns the line of host code that called into this package: the innermost
// frame outside of it and of internal packages, as "train.go:41".
func hostLine() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	inside := false
	for {
		f, more := frames.Next()
		test := strings.HasSuffix(f.File, "_test.go")
		ours := strings.HasPrefix(f.Function, "github.com/kernbench/kernbench/torch.") && !test
		hidden := strings.HasPrefix(f.Function, "github.com/kernbench/kernbench/internal/") && !test || strings.HasPrefix(f.Function, "iter.")
		if inside && !ours && !hidden && !strings.HasPrefix(f.Function, "runtime.") {
			return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
		}
		inside = inside || ours
		if !more {
			return ""
		}
	}
}
