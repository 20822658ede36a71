package bench

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// explain turns the error of a run, and that of its machine if it ended, into one
// for the person who wrote the bench: a panic becomes one line that says where in
// their code it was. The stack is kept only if this module's own code panicked.
func explain(err, ended error) error {
	var inKernel *sim.PanicError
	var inHost *torch.HostPanic
	var spawned *torch.SpawnError
	switch {
	case errors.As(ended, &inKernel):
		kernel, pe, _ := strings.Cut(inKernel.Proc, "@")
		return panicError(fmt.Sprintf("kernel %s on %s", kernel, pe), inKernel.Value, inKernel.Stack)
	case errors.As(err, &spawned):
		var all []error
		for _, r := range spawned.Ranks {
			who := fmt.Sprintf("rank %d", r.Rank)
			if errors.As(r.Err, &inHost) {
				all = append(all, panicError(who, inHost.Value, inHost.Stack))
			} else {
				all = append(all, fmt.Errorf("%s: %w", who, r.Err))
			}
		}
		return errors.Join(all...)
	case errors.As(err, &inHost):
		return panicError("the bench", inHost.Value, inHost.Stack)
	}
	return err
}

func panicError(who string, value any, stack []byte) error {
	frames := panicFrames(stack)
	line, inside := "", len(frames) > 0 && frames[0].ours
	for _, f := range frames {
		if !f.ours {
			line = " at " + f.line
			break
		}
	}
	err, _ := value.(error)
	var misuse *torch.Error
	var wrong *tl.Error
	switch {
	case errors.As(err, &wrong):
		return wrong // says where
	case errors.As(err, &misuse):
		return fmt.Errorf("%s%s: %w", who, line, misuse)
	case inside:
		return fmt.Errorf("%s: a panic inside kernbench, which should not happen: %v\n%s", who, value, stack)
	}
	return fmt.Errorf("%s: panic%s: %v", who, line, value)
}

// frame is a call on the stack of a panic.
type frame struct {
	line string // "scale.go:12"
	ours bool   // in the simulator or the APIs in front of it
}

// module is the simulator's own packages, whose panics are not the author's fault.
const module = "github.com/kernbench/kernbench/"

var ourPackages = []string{module + "internal/", module + "tl.", module + "torch.", module + "topology."}

// panicFrames is the calls that led to a panic, innermost first, without those of
// the standard library. A stack has two lines for each: the function with its
// arguments, and a tab, the file, the line and an offset.
func panicFrames(stack []byte) (frames []frame) {
	_, text, _ := strings.Cut(string(stack), "\npanic(")
	lines := strings.Split(text, "\n")
	library := "" // folder of the standard library; none in builds with -trimpath
	if len(lines) > 1 {
		library, _, _ = strings.Cut(lines[1], "runtime/panic.go")
	}
	for i := 2; i+1 < len(lines); i += 2 {
		function, at := lines[i], lines[i+1]
		if strings.HasPrefix(function, "runtime.") || len(library) > 1 && strings.HasPrefix(at, library) {
			continue
		}
		at, _, _ = strings.Cut(path.Base(at), " ")
		f := frame{line: at}
		for _, p := range ourPackages {
			// Benches of tests are in test files.
			f.ours = f.ours || strings.HasPrefix(function, p) && !strings.Contains(at, "_test.go:")
		}
		frames = append(frames, f)
	}
	return frames
}
