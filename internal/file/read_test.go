package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", []byte("some text"), 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := Read(t.Context(), "x", 9)
	if err != nil || string(text) != "some text" {
		t.Errorf("got %q, %v", text, err)
	}
	for _, tt := range []struct{ name, want string }{
		{"x", "x has 9 bytes, and the limit is 8"},
		{".", ". is a folder, not a file"},
		{"/dev/zero", "/dev/zero is a device, not a file: name a file or a pipe"},
		{"/dev/null", "/dev/null is a device, not a file: name a file or a pipe"},
		{"none", "open none: no such file or directory"},
	} {
		if _, err := Read(t.Context(), tt.name, 8); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := Read(t.Context(), "none", 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.Symlink("nowhere", "link"); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), "link", 8); !errors.Is(err, fs.ErrNotExist) || err.Error() != "open link: a link to nowhere: file does not exist" {
		t.Errorf("a link to nowhere: %v", err)
	}
}

// TestLimitOfGrowingFile checks that the limit of a Reader also holds for a file that grows
// after it was opened.
func TestLimitOfGrowingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", []byte("12345678"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), "x", 8)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.WriteFile("x", []byte("123456789"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(r)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != 8 {
		t.Errorf("got %v, want a LimitError", err)
	}
}

func TestReadStopsWithContext(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x", make([]byte, 3*maxRead), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := Open(ctx, "x", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	buf := make([]byte, 3*maxRead)
	if n, err := r.Read(buf); n != maxRead || err != nil {
		t.Errorf("one read: %d bytes, %v; want %d", n, err, maxRead)
	}
	why := errors.New("enough")
	cancel(why)
	if _, err := r.Read(buf); err != why {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, err := WithContext(ctx, strings.NewReader("x")).Read(buf); err != why {
		t.Errorf("WithContext: %v", err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	text := "a\n\n" + long + "\nlast"
	// Reads of one byte make a line span several reads.
	for _, r := range []io.Reader{strings.NewReader(text), &single{strings.NewReader(text)}} {
		lines := NewLines(r, 200_000)
		for i, want := range []string{"a", "", long, "last"} {
			got, whole, err := lines.Next()
			if string(got) != want || whole != (i < 3) || err != nil || lines.Line() != i+1 {
				t.Errorf("line %d (%d): %d bytes, %v, %v; want %d bytes", i+1, lines.Line(), len(got), whole, err, len(want))
			}
		}
		if _, _, err := lines.Next(); err != io.EOF {
			t.Errorf("after the last line: %v", err)
		}
	}
	lines := NewLines(strings.NewReader("12345\n123456\n"), 5)
	if got, _, err := lines.Next(); string(got) != "12345" || err != nil {
		t.Errorf("a line of the largest length: %q, %v", got, err)
	}
	want := "the line is too long: it has more than 5 bytes"
	if _, _, err := lines.Next(); !errors.Is(err, ErrLineTooLong) || err.Error() != want {
		t.Errorf("a longer line: %v, want %s", err, want)
	}
}

// single is a reader that reads one byte at a time.
type single struct{ r io.Reader }

func (s *single) Read(p []byte) (int, error) { return s.r.Read(p[:min(1, len(p))]) }

// TestEndlessLine checks that Lines refuses an endless line after the limit, and reads
// hardly more bytes than the limit.
func TestEndlessLine(t *testing.T) {
	r := &zeros{}
	lines := NewLines(r, 1<<20)
	if _, _, err := lines.Next(); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("got %v", err)
	}
	if r.read > 1<<20+1<<16+1 {
		t.Errorf("%d bytes were read for a limit of %d", r.read, 1<<20)
	}
}

func TestLimitLines(t *testing.T) {
	text := "12345\n\n1234\n12345"
	for _, r := range []io.Reader{strings.NewReader(text), &single{strings.NewReader(text)}} {
		if got, err := io.ReadAll(LimitLines(r, 5)); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for _, r := range []io.Reader{strings.NewReader(text), &single{strings.NewReader(text)}, &zeros{}} {
		if _, err := io.ReadAll(LimitLines(r, 4)); !errors.Is(err, ErrLineTooLong) {
			t.Errorf("got %v, want %v", err, ErrLineTooLong)
		}
	}
}

// zeros is an endless stream of the byte fill. read counts the bytes.
type zeros struct {
	fill byte
	read int
}

func (z *zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = z.fill
	}
	z.read += len(p)
	return len(p), nil
}

func TestLinesDoNotAllocate(t *testing.T) {
	text := bytes.Repeat([]byte("a line of some length\n"), 1000)
	r := bytes.NewReader(text)
	lines := NewLines(r, 100)
	if n := testing.AllocsPerRun(10, func() {
		r.Reset(text)
		for range 1000 {
			if _, _, err := lines.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for 1000 lines", n)
	}
}
