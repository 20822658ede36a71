package torch

import (
	"github.com/kernbench/kernbench/internal/trace"
)

// SaveTrace ends the recording and gives its file its name, if there is one; only what
// the context cannot know of the program has to be said. Close without it drops the file.
func (c *Context) SaveTrace(about trace.About) error {
	if c.trace == nil {
		return nil
	}
	about.Tool = "kernbench"
	about.Topology, about.Links = c.Topology().Spec().Hash(), c.m.TraceLinks()
	err := c.trace.Close(about)
	c.trace = nil
	return err
}

// DropTrace gives the recording up, if there is one.
func (c *Context) DropTrace() error {
	if c.trace == nil {
		return nil
	}
	err := c.trace.Discard()
	c.trace = nil
	return err
}
