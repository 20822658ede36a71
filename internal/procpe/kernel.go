package procpe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/kernbench/kernbench/internal/stack"
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
	return c.unwaited()
}

// unwaited returns the error of a kernel that has not waited for a message it asked for.
func (c *core) unwaited() error {
	if len(c.receives) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(c.receives)), func(a, b tl.Handle) int { return cmp.Compare(a.N, b.N) })
	return &tl.Error{
		Kernel: c.kernel, PE: c.name(), Op: "RecvAsync", Shapes: c.receives[first].port.String(),
		Err: errors.New("the kernel ended without having waited for the message"),
	}
}

// clear ends tiles, scratch and receives.
func (c *core) clear() {
	clear(c.receives)
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
	line, _ := stack.Line(string(debug.Stack()))
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: line, Err: err}
}
