package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/machine"
)

// Estimates of what the simulation of a PE that holds a tensor or runs a kernel takes of
// this computer: its queues, engines and coroutine, and the records of its operations if
// they are kept.
const (
	perPE     = 24 << 10
	perPELogs = 8 << 10
)

// Reserve announces that the program will use bytes of this computer's memory for values of
// its own, such as inputs and references, until the context is closed. It returns an error,
// for which nothing has been allocated, if this computer, or a control group of this
// process, has not as many. Tensors make reservations by themselves.
func (c *Context) Reserve(what string, bytes uint64) error {
	if err := c.reserve(nil, bytes); err != nil {
		return fmt.Errorf("%s: %w: take smaller sizes, or find out times only with --data=off", what, err)
	}
	return nil
}

// reserve reserves bytes of this computer's memory for a storage, or for the context if it is
// nil.
func (c *Context) reserve(of *storage, bytes uint64) error {
	release, err := host.Reserve(bytes)
	if err == nil {
		c.reserved[of] = append(c.reserved[of], release)
	}
	return err
}

// affordPEs refuses more PEs than this computer can simulate, before they are listed.
func (c *Context) affordPEs(op string, pes int) error {
	if pes <= c.usedPEs {
		return nil
	}
	if err := host.Check(host.Product(uint64(pes-c.usedPEs), c.perPE())); err != nil {
		return fmt.Errorf("%s on %d PEs: %w: take a smaller system, or fewer PEs", op, pes, err)
	}
	return nil
}

// usePEs reserves memory for those of different PEs that have not been used before.
func (c *Context) usePEs(op string, pes []machine.PEID) error {
	fresh := slices.DeleteFunc(slices.Clone(pes), func(pe machine.PEID) bool { return c.used[pe] })
	if len(fresh) == 0 {
		return nil
	}
	if err := c.reserve(nil, host.Product(uint64(len(fresh)), c.perPE())); err != nil {
		return fmt.Errorf("%s, with %d PEs in use: %w: take a smaller system, or fewer PEs", op, c.usedPEs+len(fresh), err)
	}
	c.usedPEs += len(fresh)
	for _, pe := range fresh {
		c.used[pe] = true
	}
	return nil
}

func (c *Context) perPE() uint64 {
	if c.m.Log != nil {
		return perPE + perPELogs
	}
	return perPE
}

// hasValues reports whether the values of tensors are kept: to compute with them, or in an
// op log that is saved.
func (c *Context) hasValues() bool { return c.HasData() || c.options.KeepLog }

// How often the values of a tensor are held: in the memory of the machine once an operation
// may have written them, and when they come from the host, as a whole and in the op log too.
const (
	onceWritten = 1
	onceCopied  = 3
)

// hold announces that the values of tensors will be held so many times, until the tensors
// are freed.
func (c *Context) hold(op string, times uint64, tensors ...*Tensor) error {
	for _, x := range tensors {
		if times <= x.held || !c.hasValues() {
			continue
		}
		if err := c.reserve(x.storage, host.Product(times-x.held, uint64(x.size))); err != nil {
			return x.tooLarge(op, err)
		}
		x.held = times
	}
	return nil
}

func (x *Tensor) tooLarge(op string, err error) error {
	return fmt.Errorf("%s: values of %s: %w: make it smaller, or find out times only with --data=off", op, x.name, err)
}

// unreserve gives up what was reserved for a storage, or for the context.
func (c *Context) unreserve(of *storage) {
	for _, release := range c.reserved[of] {
		release()
	}
	delete(c.reserved, of)
}
