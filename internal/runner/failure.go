package runner

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
)

// failure is the error of a run, and that of its machine if it ended, for whoever wrote
// the kernel: without the insides of the machine.
func failure(err, ended error) error {
	var failed *RankError
	var input *InputError
	var misuse *tl.Error
	var panicked *sim.PanicError
	switch {
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &input):
		return input
	case errors.As(ended, &misuse):
		err = misuse
	case errors.As(ended, &panicked):
		kernel, pe, _ := strings.Cut(panicked.Proc, "@")
		err = fmt.Errorf("kernel %s on %s: panic%s: %v", kernel, pe, panicLine(panicked.Stack), panicked.Value)
	}
	return &RankError{-1, err}
}

var stackLine = regexp.MustCompile(`(?m)^\t\S*/([^/\s]+)/([^/\s]+\.go:\d+)`)

// panicLine is the line that a stack says a panic came from: the first after panic that
// is not the runtime's.
func panicLine(stack []byte) string {
	_, after, _ := bytes.Cut(stack, []byte("\npanic("))
	for _, m := range stackLine.FindAllSubmatch(after, -1) {
		if string(m[1]) != "runtime" {
			return " at " + string(m[2])
		}
	}
	return ""
}
