//go:build unix

package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestReadPipe checks that Read returns all data of a pipe, and immediately refuses a pipe
// that has no writer.
func TestReadPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	want := "fifo is a pipe to which nothing was written: start the program that writes it first"
	if _, err := Read(t.Context(), "fifo", 100); err == nil || err.Error() != want {
		t.Errorf("without a writer: got %v, want %s", err, want)
	}
	wrote := make(chan error)
	r, w, err := os.Pipe() // as the shell's <(command)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, err := w.WriteString("one")
		if err == nil {
			_, err = w.WriteString(", two")
		}
		w.Close()
		wrote <- err
	}()
	text, err := Read(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd()), 8)
	if err != nil || string(text) != "one, two" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

// TestReadPipeStopsWithContext checks that a read from a pipe whose writer writes nothing
// ends when the context ends.
func TestReadPipeStopsWithContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Read(ctx, fmt.Sprintf("/dev/fd/%d", r.Fd()), 8)
		ended <- err
	}()
	why := errors.New("enough")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

// TestWritePipe checks that writing to a pipe without a reader is refused, and that a
// device is written directly, not replaced.
func TestWritePipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	want := "write fifo: it is a pipe that no process reads: start the program that reads it first"
	if err := Write("fifo", []byte("text")); err == nil || err.Error() != want {
		t.Errorf("without a reader: got %v, want %s", err, want)
	}
	if err := Write("/dev/null", []byte("text")); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat("/dev/null")
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("/dev/null is %v now, %v", info.Mode(), err)
	}
}

// TestWriteKeepsMode checks that a file keeps its mode when it is replaced, for any umask.
func TestWriteKeepsMode(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("x", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write("x", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("x"); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
