package torch

// Looks returns how often operations were looked at to find out which can go on.
func (c *Context) Looks() int { return c.looks }

// Last returns what the last program of a collective took.
func (c *Context) Last() Stats { return c.last }
