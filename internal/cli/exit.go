package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/task"
)

// Exit statuses. kernbench --help and docs/use/commands.md explain them.
const (
	exitOK          = 0
	exitWrong       = 1 // wrong values or a failed check
	exitUsage       = 2 // bad usage or input
	exitFailed      = 3 // the run failed
	exitInterrupted = 128 + int(syscall.SIGINT)
	exitTerminated  = 128 + int(syscall.SIGTERM)
	exitClosedPipe  = 128 + int(syscall.SIGPIPE)
)

// Signal is the cause of a context that was cancelled because the program received a
// signal.
type Signal struct{ syscall.Signal }

func (s Signal) Error() string { return s.String() + " signal" }

// exitError is an error with an exit status. Most other errors end with exitFailed; see
// status.
type exitError struct {
	code int
	err  error // nil if the command has already printed everything
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns a list with the wrapped error as its only element, or nil if there is
// none. If the wrapped error joins several errors, config.Flatten then finds each of them,
// and their messages are printed on separate lines.
func (e *exitError) Unwrap() []error {
	if e.err == nil {
		return nil
	}
	return []error{e.err}
}

// badInput returns err with exitUsage, the exit status for bad usage or input. It returns
// nil if err is nil.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// wrongResult returns an error with exitWrong, the exit status for wrong values and failed
// checks. The error has one message for each text. wrongResult returns nil if there are no
// texts.
func wrongResult(texts ...string) error {
	if len(texts) == 0 {
		return nil
	}
	var all []error
	for _, text := range texts {
		all = append(all, errors.New(text))
	}
	return &exitError{exitWrong, errors.Join(all...)}
}

// Causes of errors with files. They decide the exit status in every command.
var (
	// systemErrors are failures of the system that do not depend on the name of the file.
	systemErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}
	// nameErrors are mistakes in the name of a file.
	nameErrors = []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, syscall.EISDIR, syscall.ENOTDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ETXTBSY}
)

// status returns the exit status for an error. The cause of the error determines the
// status, not the command that returned it. A signal has precedence over failures that it
// caused. Next come failures of the system, and then the exit status that the command has
// chosen.
func status(ctx context.Context, err error) int {
	var exit *exitError
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), Signal{syscall.SIGTERM}):
		return exitTerminated
	case ctx.Err() != nil:
		return exitInterrupted
	case is(syscall.EPIPE), is(io.ErrClosedPipe):
		return exitClosedPipe
	case slices.ContainsFunc(systemErrors, is):
		return exitFailed
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, new(*memory.OutOfMemory)), errors.As(err, new(*host.MemoryError)), errors.As(err, new(*cost.FitError)),
		errors.As(err, new(*experiment.FileError)), errors.As(err, new(*runner.InputError)), errors.As(err, new(*task.Refused)), isNameError(err):
		return exitUsage
	}
	return exitFailed
}

// isNameError reports whether the cause of an error is the name of a file.
func isNameError(err error) bool {
	return errors.As(err, new(*file.NameError)) || (errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))) &&
		slices.ContainsFunc(nameErrors, func(target error) bool { return errors.Is(err, target) })
}

// printErrors prints a message for each error that err joins. It prints equal messages
// once: a bad --set is one mistake, even if it was applied to several machines.
func printErrors(w io.Writer, err error) {
	printed := map[string]bool{}
	for _, e := range config.Flatten(err) {
		if printed[e.Error()] {
			continue
		}
		printed[e.Error()] = true
		prefix := "kernbench: "
		var at *config.Error
		if errors.As(e, &at) && at.Line > 0 {
			prefix = ""
		}
		text := strings.ReplaceAll(e.Error(), "\t", "    ") // stack traces have tabs
		fmt.Fprintf(w, "%s%s\n", prefix, printable.Text(text))
	}
}

// warn prints a warning. The command continues.
func warn(w io.Writer, text string) { fmt.Fprintf(w, "kernbench: warning: %s\n", text) }

// output is the standard output of a command. It keeps its first error, so that commands
// need not check each write, and can escape unprintable characters.
type output struct {
	w   io.Writer
	to  io.Writer // w, or a printable.Writer to w that escapes
	err error     // the first error; nothing is written after it
}

func (o *output) Write(p []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.to.Write(p)
	}
	return n, o.err
}

// flush writes the bytes that o.to still holds, if o.to is the writer that escapes
// unprintable characters.
func (o *output) flush() {
	if text, ok := o.to.(*printable.Writer); ok && o.err == nil {
		o.err = text.Flush()
	}
}

// escapeOutput turns the escaping of unprintable characters in a command's output on or
// off. It is on for text that people read and off for data that programs read.
func escapeOutput(cmd *cobra.Command, escape bool) {
	o, ok := cmd.OutOrStdout().(*output)
	switch {
	case !ok: // the writer of a test
	case escape:
		o.to = &printable.Writer{W: o.w}
	default:
		o.to = o.w
	}
}

// result is what a command prints. --format json prints the value itself. If the command
// has --format csv, the value has a method WriteCSV.
type result interface{ WriteText(io.Writer) error }

// printResult prints a result in the given format. If the result has a method Mistakes that
// returns mistakes, printResult returns them as an error.
func printResult(cmd *cobra.Command, format string, r result) (err error) {
	w := cmd.OutOrStdout()
	switch format {
	case "json":
		err = table.WriteJSON(w, r)
	case "csv":
		err = r.(interface{ WriteCSV(io.Writer) error }).WriteCSV(w)
	default:
		err = r.WriteText(w)
	}
	if m, ok := r.(interface{ Mistakes() []string }); ok && err == nil {
		err = wrongResult(m.Mistakes()...)
	}
	return err
}

// setRun sets the function that cmd runs: it prints the result that `run` returns. setRun
// also adds --format with the formats text and json, and the formats in `more`. It returns
// cmd.
func setRun(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) (result, error), more ...string) *cobra.Command {
	format := formatFlag(cmd, more...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := run(cmd, args)
		if err != nil {
			return err
		}
		return printResult(cmd, *format, r)
	}
	return cmd
}
