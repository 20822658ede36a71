package torch

// Err is the error that ended the machine, nil while it can be used: a deadlock, a
// limit, a panic of a kernel with its stack, or that of the context.Context. After
// it nothing can be launched.
func (c *Context) Err() error { return c.err }
