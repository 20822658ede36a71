package attention

import "github.com/kernbench/kernbench/tl"

// fence has a kernel wait for its own arithmetic, which otherwise goes on while the kernel
// does: results come in the order of commands, a store after the one that it stores, and a
// signal to the PE itself after the store.
type fence struct {
	scratch tl.Ptr
	waits   int
}

// wait waits for all commands so far.
func (f *fence) wait(t *tl.PE) {
	if f.waits++; f.waits == 1 {
		f.scratch = t.Scratch(tl.Shape{1}, tl.F32)
	}
	t.Store(f.scratch, t.Zeros(tl.Shape{1}, tl.F32))
	t.Notify(t.Rank(), 0, tl.Set, f.waits)
	t.WaitSignal(0, tl.GE, f.waits)
}
