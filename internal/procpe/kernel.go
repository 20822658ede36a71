package procpe

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/kernbench/kernbench/tl"
)

// run runs a kernel to its end, and ends what it leaves.
func (c *core) run(body func(m tl.Machine)) (err error) {
	defer func() {
		if stopped := recover(); stopped != nil {
			err = c.failure(stopped)
		}
		c.clear()
	}()
	c.began = time.Now()
	body(c)
	return nil
}

// clear ends tiles and scratch.
func (c *core) clear() {
	c.tiles.clear()
	clear(c.regions[c.tensors:])
	c.regions = c.regions[:c.tensors]
}

// failure is the error of a kernel that panicked. It is called while the stack of the
// panic is there.
func (c *core) failure(stopped any) error {
	if e, ok := stopped.(*tl.Error); ok {
		said := *e
		said.Kernel, said.PE = c.kernel, c.name() // a pointer's misuse has neither
		return &said
	}
	err, ok := stopped.(error)
	if !ok {
		err = errors.New(fmt.Sprint(stopped))
	}
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: panicked(), Err: err}
}

// panicked is the line that the panic in progress comes from.
func panicked() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	for inside := false; ; {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			inside = true
		}
		if inside && !strings.HasPrefix(f.Function, "runtime.") {
			return f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}
