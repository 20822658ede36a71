package analysis

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Open reads the trace in a file; one whose name ends in .gz is compressed.
func Open(ctx context.Context, path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return Read(ctx, f)
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%w: a name that ends in .gz is that of a compressed file", err)
	}
	return Read(ctx, zip)
}

// Read reads a trace, and refuses one that breaks the rules of the format: which ones is
// joined in the error.
func Read(ctx context.Context, r io.Reader) (*Trace, error) {
	rd := newReader()
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	if err := rd.head(lines); err != nil {
		return nil, err
	}
	closed, err := rd.events(ctx, lines)
	if closed != nil {
		err = rd.tail(closed, lines)
		rd.finish()
	}
	if err := errors.Join(rd.err(), err); err != nil {
		return nil, err
	}
	return rd.t, nil
}

const (
	maxLine     = 1 << 30 // the last has all links
	linesPerCtx = 4096    // between looks at the context
)

// head reads the first line, up to the list of events.
func (rd *reader) head(lines *bufio.Scanner) error {
	if !lines.Scan() && lines.Err() != nil {
		return lines.Err()
	}
	rd.line++
	first := bytes.TrimSpace(lines.Bytes())
	if !bytes.HasSuffix(first, []byte(`"traceEvents":[`)) || !json.Valid(append(bytes.Clone(first), "]}"...)) {
		return errors.New("line 1: this is no trace: record one with kernbench run --trace FILE")
	}
	return nil
}

// events reads the list of events, and is the line that closes it. It stops early at
// mistakes that leave nothing to go on with.
func (rd *reader) events(ctx context.Context, lines *bufio.Scanner) (closed []byte, err error) {
	var e event
	more := true // an event may follow
	for n := 0; lines.Scan(); n++ {
		if n%linesPerCtx == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		rd.line++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) > 0 && line[0] == ']' {
			if more && rd.t.Events > 0 {
				return nil, fmt.Errorf("line %d: the last event has a comma behind it", rd.line-1)
			}
			return bytes.Clone(line), nil
		}
		if !more {
			return nil, fmt.Errorf("line %d: a comma is missing behind the event", rd.line-1)
		}
		line, more = bytes.CutSuffix(line, []byte(","))
		if err := e.parse(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", rd.line, err)
		}
		rd.t.Events++
		if rd.event(&e); len(rd.broken) > maxBroken {
			return nil, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", rd.line+1, err)
	}
	return nil, fmt.Errorf("line %d: the trace ends within its events: the run that wrote it did not end", rd.line)
}

// tail reads what comes behind the events.
func (rd *reader) tail(closed []byte, lines *bufio.Scanner) error {
	for lines.Scan() {
		closed = append(closed, lines.Bytes()...)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", rd.line+1, err)
	}
	rest := append([]byte("{"), bytes.TrimPrefix(closed[1:], []byte(","))...)
	var end struct {
		OtherData struct {
			About
			Links []linkRecord `json:"links"`
		} `json:"otherData"`
	}
	if err := json.Unmarshal(rest, &end); err != nil {
		return fmt.Errorf("line %d: behind the events: %w", rd.line, err)
	}
	rd.t.About = end.OtherData.About
	for _, l := range end.OtherData.Links {
		link, err := l.read()
		if err != nil {
			return fmt.Errorf("line %d: link %s: %w", rd.line, l.Name, err)
		}
		rd.t.About.Links = append(rd.t.About.Links, link)
	}
	return nil
}
