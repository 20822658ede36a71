package torch

// Work is a collective that goes on while the rank does something else.
type Work struct {
	c      *Context
	op     *operation
	waited bool
}

// Wait waits for the end. What the collective writes may be read after it. A second
// Wait does nothing.
func (w *Work) Wait() error {
	if w.waited {
		return nil
	}
	if err := w.c.operation("Wait"); err != nil {
		return err
	}
	if err := w.c.await(w.op); err != nil {
		return err
	}
	w.waited = true
	return nil
}

// IsCompleted reports whether the collective has ended.
func (w *Work) IsCompleted() bool { return w.op.state == ended }

// String names the collective.
func (w *Work) String() string { return w.op.name }
