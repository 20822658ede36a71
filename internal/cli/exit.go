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

// The exit statuses. The help of kernbench explains them, and docs/use/commands.md has that.
const (
	exitOK          = 0
	exitWrong       = 1 // wrong values or a failed check
	exitUsage       = 2 // bad usage or input
	exitFailed      = 3 // the run failed
	exitInterrupted = 128 + int(syscall.SIGINT)
	exitTerminated  = 128 + int(syscall.SIGTERM)
	exitClosedPipe  = 128 + int(syscall.SIGPIPE)
)

// Signal is the cause of a context that ends because the program was asked to.
type Signal struct{ syscall.Signal }

func (s Signal) Error() string { return s.String() + " signal" }

// exitError is an error that decides the exit status. Others mean exitFailed.
type exitError struct {
	code int
	err  error // nil when all has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the error as one of a list: its messages are printed apart.
func (e *exitError) Unwrap() []error {
	if e.err == nil {
		return nil
	}
	return []error{e.err}
}

// badInput marks err, if there is one, as a mistake in what the user gave.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// wrong returns the error of wrong values, accesses or times, a message for each, and nil if there are none.
func wrong(texts ...string) error {
	if len(texts) == 0 {
		return nil
	}
	var all []error
	for _, text := range texts {
		all = append(all, errors.New(text))
	}
	return &exitError{exitWrong, errors.Join(all...)}
}

// Causes of errors with files, which decide the exit status whichever command meets them.
var (
	// systemErrors are failures of the system. Names have nothing to do with them.
	systemErrors = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}
	// nameErrors are mistakes in the name of a file.
	nameErrors = []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, syscall.EISDIR, syscall.ENOTDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ETXTBSY}
)

// status returns the exit status that an error ends the program with. The cause of the
// error decides, not the command that met it: a signal before anything that failed
// because of it, then a failure of the system, then what the command says.
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
		errors.As(err, new(*experiment.FileError)), errors.As(err, new(*runner.InputError)), errors.As(err, new(*task.Refused)), ofName(err):
		return exitUsage
	}
	return exitFailed
}

// ofName reports whether the cause of an error is the name of a file.
func ofName(err error) bool {
	return errors.As(err, new(*file.NameError)) || (errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))) &&
		slices.ContainsFunc(nameErrors, func(target error) bool { return errors.Is(err, target) })
}

// complain prints an error, a message for each of those it joins, and says
// nothing twice: a bad --set is one mistake, however many systems it is tried on.
func complain(w io.Writer, err error) {
	said := map[string]bool{}
	for _, e := range config.Flatten(err) {
		if said[e.Error()] {
			continue
		}
		said[e.Error()] = true
		prefix := "kernbench: "
		var at *config.Error
		if errors.As(e, &at) && at.Line > 0 {
			prefix = ""
		}
		text := strings.ReplaceAll(e.Error(), "\t", "    ") // traces of goroutines have tabs
		fmt.Fprintf(w, "%s%s\n", prefix, printable.Text(text))
	}
}

// warn prints a warning: the command goes on.
func warn(w io.Writer, text string) { fmt.Fprintf(w, "kernbench: warning: %s\n", text) }

// output is a writer that remembers its first error, so that commands need not
// look at every line they write. It escapes text for people.
type output struct {
	w   io.Writer
	to  io.Writer // w for data, a printable.Writer to it for text
	err error
}

func (o *output) Write(p []byte) (n int, err error) {
	if o.err == nil {
		n, o.err = o.to.Write(p)
	}
	return n, o.err
}

// flush writes what is left of a text.
func (o *output) flush() {
	if text, ok := o.to.(*printable.Writer); ok && o.err == nil {
		o.err = text.Flush()
	}
}

// forPeople says whether what a command prints is text for people, or data for programs.
func forPeople(cmd *cobra.Command, people bool) {
	o, ok := cmd.OutOrStdout().(*output)
	switch {
	case !ok: // the writer of a test
	case people:
		o.to = &printable.Writer{W: o.w}
	default:
		o.to = o.w
	}
}

// result is what a command prints: an object of JSON, text for people, and for commands with
// --format csv a table.
type result interface{ WriteText(io.Writer) error }

// printResult prints a result in a format. It returns the error of the mistakes that the result has
// found, if it can have some.
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
		err = wrong(m.Mistakes()...)
	}
	return err
}

// prints gives a command --format, text and json unless it has more, and has it print the result
// that run returns.
func prints(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) (result, error), more ...string) *cobra.Command {
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
