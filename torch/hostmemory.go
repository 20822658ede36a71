package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/machine"
)

// Estimates of the memory of this computer that the simulation needs for each PE that
// holds a tensor or runs a kernel: peBytes for its queues, engines and coroutine, and
// peLogBytes for the records of its operations if there is an op log.
const (
	peBytes    = 24 << 10
	peLogBytes = 8 << 10
)

// Reserve announces that the program will use the given number of bytes of this computer's
// memory for data such as inputs and references, until the context is closed. It allocates
// nothing. It returns an error if this computer, or a control group of this process, does
// not have enough memory. The memory for the values of tensors is reserved without a call
// of Reserve. `what` names the data in errors.
func (c *Context) Reserve(what string, bytes uint64) error {
	if err := c.reserve(nil, bytes); err != nil {
		return fmt.Errorf("%s: %w: take smaller sizes, or find out times only with --data=off", what, err)
	}
	return nil
}

// reserve reserves the given number of bytes of this computer's memory for the storage
// `owner`, or for the context if `owner` is nil.
func (c *Context) reserve(owner *storage, bytes uint64) error {
	release, err := host.Reserve(bytes)
	if err == nil {
		c.reserved[owner] = append(c.reserved[owner], release)
	}
	return err
}

// affordPEs returns an error if this computer does not have enough memory to simulate the
// given number of PEs. It is called before a list of the PEs is made. op is the name of the
// calling function, for errors.
func (c *Context) affordPEs(op string, pes int) error {
	if pes <= c.usedPEs {
		return nil
	}
	if err := host.Check(host.Product(uint64(pes-c.usedPEs), c.bytesPerPE())); err != nil {
		return fmt.Errorf("%s on %d PEs: %w: take a smaller system, or fewer PEs", op, pes, err)
	}
	return nil
}

// usePEs reserves memory of this computer for each PE in pes that has not been used before.
// pes has no duplicates. op is the name of the calling function, for errors.
func (c *Context) usePEs(op string, pes []machine.PEID) error {
	fresh := slices.DeleteFunc(slices.Clone(pes), func(pe machine.PEID) bool { return c.used[pe] })
	if len(fresh) == 0 {
		return nil
	}
	if err := c.reserve(nil, host.Product(uint64(len(fresh)), c.bytesPerPE())); err != nil {
		return fmt.Errorf("%s, with %d PEs in use: %w: take a smaller system, or fewer PEs", op, c.usedPEs+len(fresh), err)
	}
	c.usedPEs += len(fresh)
	for _, pe := range fresh {
		c.used[pe] = true
	}
	return nil
}

// bytesPerPE returns the estimated memory of this computer that a simulated PE needs.
func (c *Context) bytesPerPE() uint64 {
	if c.m.Log != nil {
		return peBytes + peLogBytes
	}
	return peBytes
}

// hasValues reports whether this computer stores the values of tensors: to compute with
// them, or in an op log that is kept.
func (c *Context) hasValues() bool { return c.HasData() || c.options.KeepLog }

// How many times this computer stores the values of a tensor. Values that an operation on
// the machine writes are stored once, in the simulated memory. Values that come from the
// host are also stored as the bytes of the whole tensor and in the op log.
const (
	heldWhenWritten = 1
	heldWhenCopied  = 3
)

// reserveValues reserves memory of this computer, so that the values of each tensor can be
// stored `times` times. It reserves only the memory that is not reserved for the tensor
// yet. The memory stays reserved until the tensor is freed. In a run without values,
// reserveValues does nothing. op is the name of the calling function, for errors.
func (c *Context) reserveValues(op string, times uint64, tensors ...*Tensor) error {
	for _, x := range tensors {
		if times <= x.held || !c.hasValues() {
			continue
		}
		if err := c.reserve(x.storage, host.Product(times-x.held, uint64(x.size))); err != nil {
			return x.tooLargeError(op, err)
		}
		x.held = times
	}
	return nil
}

// tooLargeError returns the error for a tensor whose values need more memory than this
// computer has. The new error wraps err, which describes the missing memory. op is the name
// of the calling function.
func (x *Tensor) tooLargeError(op string, err error) error {
	return fmt.Errorf("%s: values of %s: %w: make it smaller, or find out times only with --data=off", op, x.name, err)
}

// unreserve releases the memory that was reserved for the storage `owner`, or for the
// context if `owner` is nil.
func (c *Context) unreserve(owner *storage) {
	for _, release := range c.reserved[owner] {
		release()
	}
	delete(c.reserved, owner)
}
