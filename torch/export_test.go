package torch

// Looks returns how often operations were looked at to find out which can go on.
func (c *Context) Looks() int { return c.looks }
