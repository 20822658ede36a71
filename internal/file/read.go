package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Reader reads an open file or pipe. It limits the number of bytes, and its context can
// interrupt it.
type Reader struct {
	name  string
	f     *os.File
	ctx   context.Context
	stop  func() bool // stops watching ctx
	limit int64       // bytes
	read  int64       // bytes read so far
	pipe  bool
	size  int64 // bytes of a regular file when it was opened
}

// maxRead is the largest number of bytes of one read, so that an interrupt takes effect
// soon.
const maxRead = 1 << 20

// nonblock opens a FIFO without waiting for the process at its other end.
const nonblock = syscall.O_NONBLOCK

// Open opens a regular file or a pipe. It refuses folders, devices and files of more than
// `limit` bytes. When ctx ends, reading returns the cause of ctx. Reading from a pipe to
// which nothing was written is an error.
func Open(ctx context.Context, name string, limit int64) (*Reader, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingError(name, err)
	} else if err != nil {
		return nil, err
	}
	r, err := NewReader(ctx, f, limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if r.pipe {
		r.stop = context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 0)) }) // has no effect if the file is closed
	}
	return r, nil
}

// NewReader returns a Reader of the open file f. `limit` and ctx have the same meaning as
// in [Open], but the end of ctx does not interrupt a Read that is waiting for data of a
// pipe.
func NewReader(ctx context.Context, f *os.File, limit int64) (*Reader, error) {
	r := &Reader{name: f.Name(), f: f, ctx: ctx, limit: limit, stop: func() bool { return true }}
	return r, r.check()
}

// missingError returns the error for a file that does not exist. If `name` is a symbolic
// link, the error names the target of the link. Otherwise the error is err.
func missingError(name string, err error) error {
	if target, linkErr := os.Readlink(name); linkErr == nil {
		return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("a link to %s: %w", target, fs.ErrNotExist)}
	}
	return err
}

// check returns an error if the file is a folder, a device or too large.
func (r *Reader) check() error {
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		if r.size = info.Size(); r.size > r.limit {
			return r.tooLarge(fmt.Sprintf("has %d bytes", r.size))
		}
	case mode.IsDir():
		return fmt.Errorf("%s is a folder, not a file", r.name)
	case mode&fs.ModeNamedPipe != 0:
		r.pipe = true
	default:
		return fmt.Errorf("%s is a device, not a file: name a file or a pipe", r.name)
	}
	return nil
}

// LimitError reports that a file is larger than the limit for its kind of content.
type LimitError struct {
	Name  string
	Limit int64
	what  string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s %s, and the limit is %d", e.Name, e.what, e.Limit)
}

func (r *Reader) tooLarge(what string) error { return &LimitError{r.name, r.limit, what} }

// Read reads the next bytes of the file.
func (r *Reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.f.Read(p[:min(len(p), maxRead)])
	r.read += int64(n)
	switch {
	case r.read > r.limit:
		return 0, r.tooLarge("has more bytes than it may")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, context.Cause(r.ctx)
	case err == io.EOF && r.pipe && r.read == 0:
		return 0, fmt.Errorf("%s is a pipe to which nothing was written: start the program that writes it first", r.name)
	}
	return n, err
}

// Rewindable reports whether the file can be read again from its start. A pipe cannot.
func (r *Reader) Rewindable() bool { return !r.pipe }

// Rewind goes back to the start of the file.
func (r *Reader) Rewind() error {
	r.read = 0
	_, err := r.f.Seek(0, io.SeekStart)
	return err
}

// Close closes the file.
func (r *Reader) Close() error {
	r.stop()
	return r.f.Close()
}

// Read returns the content of a file of at most `limit` bytes; see [Open].
func Read(ctx context.Context, name string, limit int64) (text []byte, err error) {
	r, err := Open(ctx, name, limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b bytes.Buffer
	b.Grow(int(r.size) + bytes.MinRead) // enough to see the end of the file without growing
	if _, err := b.ReadFrom(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WithContext returns a reader of r that returns an error when ctx ends. It is for streams
// that are derived from a file, such as its decompressed content.
func WithContext(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p[:min(len(p), maxRead)])
	})
}

// readFunc is a function that implements io.Reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Lines reads a stream line by line in time linear in its length.
type Lines struct {
	r   *bufio.Reader
	max int    // largest length of a line in bytes
	buf []byte // the current line, if it is longer than the buffer of r
	n   int    // number of lines read
}

// NewLines returns a reader of lines of at most `max` bytes each.
func NewLines(r io.Reader, max int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 1<<16), max: max}
}

// ErrLineTooLong is the cause of the error for a line that is longer than the limit.
var ErrLineTooLong = errors.New("the line is too long")

// LimitLines returns a reader of r that returns an error for a line of more than `max`
// bytes. It is for parsers that have no limit on the length of a line.
func LimitLines(r io.Reader, max int) io.Reader {
	length := 0 // bytes of the current line
	return readFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		for rest := p[:n]; ; {
			line, after, ended := bytes.Cut(rest, []byte("\n"))
			if length += len(line); length > max {
				return 0, fmt.Errorf("%w: it has more than %d bytes", ErrLineTooLong, max)
			}
			if !ended {
				return n, err
			}
			length, rest = 0, after
		}
	})
}

// Next returns the next line without its newline. The line is valid until the next call of
// Next. `whole` is false for a last line without a newline. At the end of the stream err is
// io.EOF.
func (l *Lines) Next() (line []byte, whole bool, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.max+1 {
			l.n++
			return nil, false, fmt.Errorf("%w: it has more than %d bytes", ErrLineTooLong, l.max)
		}
		if line = part; err != nil || len(l.buf) > 0 {
			l.buf = append(l.buf, part...)
			line = l.buf
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(line) == 0):
			return nil, false, err
		}
		l.n++
		line, whole = bytes.CutSuffix(line, []byte("\n"))
		return line, whole, nil
	}
}

// Peek returns the first byte of the next line. It returns 0 at the end of the stream or
// after an error, which Next then returns.
func (l *Lines) Peek() byte {
	b, err := l.r.Peek(1)
	if err != nil {
		return 0 // Next returns the error
	}
	return b[0]
}

// Line returns the number of the line that Next returned last, counted from 1.
func (l *Lines) Line() int { return l.n }

// Rest returns a reader of the rest of the stream, after the line that Next returned last.
func (l *Lines) Rest() io.Reader { return l.r }

// maxBlanks is the largest number of consecutive blanks that JSON may have.
const maxBlanks = 1 << 16

// NewDecoder returns a JSON decoder that takes time linear in the length of the text. It
// refuses more than maxBlanks consecutive blanks: the decoder of the standard library scans
// blanks again whenever it reads more text, which takes quadratic time.
func NewDecoder(r io.Reader) *json.Decoder {
	blanks := 0 // consecutive blanks at the end of the text read so far
	return json.NewDecoder(readFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		for _, b := range p[:n] {
			if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
				blanks = 0
			} else if blanks++; blanks > maxBlanks {
				return 0, errors.New("this is no JSON: it has more than 65536 blanks in a row")
			}
		}
		return n, err
	}))
}
