package attention

import "github.com/kernbench/kernbench/tl"

// fence has a kernel wait for its own arithmetic, which otherwise goes on while the kernel
// does: a composite begins and ends after the commands before it.
type fence struct {
	scratch tl.Ptr
	made    bool
}

// wait waits for all commands so far.
func (f *fence) wait(t *tl.PE) {
	if !f.made {
		f.scratch, f.made = t.Scratch(tl.Shape{1}, tl.F32), true
	}
	t.Wait(t.Composite(tl.Stream(tl.OpAdd, f.scratch, t.Ref(f.scratch, tl.Shape{1}, tl.F32), 0)))
}
