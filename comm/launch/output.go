package launch

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// output passes on what ranks write, a line of one rank at a time.
type output struct {
	mu     sync.Mutex
	to     io.Writer // nil drops everything
	failed error     // the first; nothing is written after it
}

func (o *output) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return fmt.Errorf("write what ranks print: %w", o.failed)
	}
	return nil
}

// longestLine is where one without an end is cut.
const longestLine = 64 << 10

// lines is the output of one rank. A rank never learns that it could not be written:
// it would die of that.
type lines struct {
	*output
	prefix string
	part   []byte // of a line, not yet complete
}

func (o *output) of(rank int) *lines {
	return &lines{output: o, prefix: fmt.Sprintf("rank %d: ", rank)}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		l.part = append(l.part, line...)
		b = rest
		if whole || len(l.part) >= longestLine {
			l.pass()
		}
	}
	return n, nil
}

// flush passes on what is there of a last line.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.pass()
	}
}

func (l *lines) pass() {
	text := fmt.Appendf(nil, "%s%s\n", l.prefix, l.part)
	l.part = l.part[:0]
	if l.to == nil || l.failed != nil {
		return
	}
	_, l.failed = l.to.Write(text)
}
