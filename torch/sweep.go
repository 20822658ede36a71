package torch

import (
	"context"

	"github.com/kernbench/kernbench/topology"
)

// A program may run many machines side by side, each of which is a point of a sweep,
// and write files. What it needs to know for that is here.

// Folder is where the program writes its files, which may have to be made. "" is nowhere.
func (c *Context) Folder() string { return c.options.Folder }

// Resumes reports whether results that lie in the folder already are to be taken over.
func (c *Context) Resumes() bool { return c.options.Resume }

// Strict reports whether results of another build of the program are refused.
func (c *Context) Strict() bool { return c.options.Strict }

// Warn tells the user of something that does not stop the run.
func (c *Context) Warn(text string) {
	if c.options.Warn != nil {
		c.options.Warn(text)
	}
}

// Progress tells whoever waits how much is done.
func (c *Context) Progress(done, total int) {
	if c.options.Progress != nil {
		c.options.Progress(done, total)
	}
}

// Workers is how many machines to run side by side.
func (c *Context) Workers() int { return c.options.Threads }

// Context is what the machine ends with.
func (c *Context) Context() context.Context { return c.ctx }

// Beside is Another for a machine that is at work at the same time as others: its values
// are computed on one thread. It may be called by several goroutines.
func (c *Context) Beside(g *topology.Graph) (*Context, error) {
	o := c.options
	o.Topology, o.Threads, o.Trace = g, 1, ""
	return New(c.ctx, o)
}

// Flit reports whether every flit is simulated.
func (c *Context) Flit() bool { return c.options.Flit }
