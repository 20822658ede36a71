package file

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Lines reads a stream line by line in time linear in its length.
type Lines struct {
	r   *bufio.Reader
	max int    // bytes of a line
	buf []byte // of a line that the buffer of r does not hold
	n   int
}

// NewLines returns a reader of lines of at most max bytes each.
func NewLines(r io.Reader, max int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 1<<16), max: max}
}

// ErrLineTooLong is the cause of the error for a line over the limit.
var ErrLineTooLong = errors.New("the line is too long")

// LimitLines returns a reader of r that refuses lines of more than max bytes, for parsers
// that would keep a line of any length.
func LimitLines(r io.Reader, max int) io.Reader { return &lineGuard{r, max, 0} }

type lineGuard struct {
	r   io.Reader
	max int
	n   int // bytes of the line so far
}

func (g *lineGuard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	for rest := p[:n]; ; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if g.n += len(line); g.n > g.max {
			return 0, fmt.Errorf("%w: it has more than %d bytes", ErrLineTooLong, g.max)
		}
		if !ended {
			return n, err
		}
		g.n, rest = 0, after
	}
}

// Next returns the next line without its newline. The line is valid until the
// next call. whole is false for a last line that has no newline. At the end of the
// stream err is io.EOF.
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

// Peek returns the first byte of the next line, 0 at the end of the stream.
func (l *Lines) Peek() byte {
	b, err := l.r.Peek(1)
	if err != nil {
		return 0 // Next returns the error
	}
	return b[0]
}

// Line returns the number of the line that Next returned, from 1.
func (l *Lines) Line() int { return l.n }

// Rest returns a reader of what follows the last line.
func (l *Lines) Rest() io.Reader { return l.r }

// maxBlanks is the most blanks in a row that JSON may have.
const maxBlanks = 1 << 16

// NewDecoder returns a decoder of JSON whose time is linear in the length of the text. The
// decoder of the standard library goes over blanks again whenever it reads more text, so
// that long rows of blanks take quadratic time: these are refused.
func NewDecoder(r io.Reader) *json.Decoder { return json.NewDecoder(&blankGuard{r: r}) }

type blankGuard struct {
	r      io.Reader
	blanks int // in a row, at the end of what was read
}

func (g *blankGuard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	for _, b := range p[:n] {
		switch b {
		case ' ', '\t', '\n', '\r':
			if g.blanks++; g.blanks > maxBlanks {
				return 0, errors.New("this is no JSON: it has more than 65536 blanks in a row")
			}
		default:
			g.blanks = 0
		}
	}
	return n, err
}
