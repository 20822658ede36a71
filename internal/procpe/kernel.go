package procpe

import (
	"errors"
	"fmt"
	"runtime/debug"
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
	line, _ := stack.Line(string(debug.Stack()))
	return &tl.Error{Kernel: c.kernel, PE: c.name(), Op: "panic", Line: line, Err: err}
}
