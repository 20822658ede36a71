package analysis

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
)

const (
	maxFileBytes = 64 << 30
	maxLineBytes = 1 << 20   // of an event
	maxTailBytes = 128 << 20 // of the text after the events, which lists all links
	linesPerCtx  = 4096      // lines between checks of the context
)

// Open reads the trace in a file. The file is compressed if its name ends in .gz.
func Open(ctx context.Context, path string) (*Trace, error) {
	f, err := file.Open(ctx, path, maxFileBytes)
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

// Read reads a trace and checks it against the rules of the format. The error joins the
// mistakes. Memory use grows with the number of events and not with the length of their
// text.
func Read(ctx context.Context, r io.Reader) (*Trace, error) {
	rd := newReader()
	lines := file.NewLines(file.WithContext(ctx, r), maxLineBytes)
	if err := rd.head(lines); err != nil {
		return nil, err
	}
	closed, err := rd.events(ctx, lines)
	if closed {
		err = rd.tail(lines.Rest())
		rd.finish()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := errors.Join(rd.err(), err); err != nil {
		return nil, err
	}
	return rd.t, nil
}

// head reads the first line of a trace file, up to the start of the list of events.
func (rd *reader) head(lines *file.Lines) error {
	line, _, err := lines.Next()
	rd.line++
	if err != nil && err != io.EOF && !errors.Is(err, file.ErrLineTooLong) {
		return err
	}
	first := bytes.TrimSpace(line)
	if !bytes.HasSuffix(first, []byte(`"traceEvents":[`)) || !json.Valid(append(bytes.Clone(first), "]}"...)) {
		return errors.New("line 1: this is no trace: record one with kernbench run --trace FILE")
	}
	return nil
}

// events reads the list of events and reports whether it reached the closing bracket. It
// stops early at a mistake after which it cannot continue.
func (rd *reader) events(ctx context.Context, lines *file.Lines) (closed bool, err error) {
	var e event
	more := true // an event may follow
	for n := 0; ; n++ {
		if n%linesPerCtx == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if lines.Peek() == ']' {
			rd.line++
			if more && rd.t.Events > 0 {
				return false, fmt.Errorf("line %d: the last event has a comma behind it", rd.line-1)
			}
			return true, nil
		}
		line, _, err := lines.Next()
		if err == io.EOF {
			return false, fmt.Errorf("line %d: the trace ends within its events: the run that wrote it did not end", rd.line)
		}
		rd.line++
		if err != nil {
			return false, fmt.Errorf("line %d: %w", rd.line, err)
		}
		if !more {
			return false, fmt.Errorf("line %d: a comma is missing behind the event", rd.line-1)
		}
		line, more = bytes.CutSuffix(bytes.TrimSpace(line), []byte(","))
		if err := e.parse(line); err != nil {
			return false, fmt.Errorf("line %d: %w", rd.line, err)
		}
		rd.t.Events++
		if rd.event(&e); len(rd.mistakes) > maxMistakes {
			return false, nil
		}
	}
}

// tail reads the end of a trace file, from the closing bracket of the events on.
func (rd *reader) tail(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: maxTailBytes}
	start := make([]byte, 2) // "]," or "]}"
	if _, err := io.ReadFull(limited, start); err != nil {
		return fmt.Errorf("line %d: behind the events: %w", rd.line, err)
	}
	text := strings.NewReader("{" + strings.TrimPrefix(string(start[1:]), ","))
	err := rd.otherMembers(file.NewDecoder(io.MultiReader(text, limited)))
	switch {
	case err != nil && limited.N <= 0:
		return fmt.Errorf("line %d: behind the events: there are more than %d bytes", rd.line, maxTailBytes)
	case err != nil:
		return fmt.Errorf("line %d: behind the events: %w", rd.line, err)
	}
	return nil
}

// otherMembers reads the members of the JSON object after its list of events.
func (rd *reader) otherMembers(d *json.Decoder) error {
	err := eachMember(d, func(key string) error {
		if key != "otherData" {
			return d.Decode(new(json.RawMessage))
		}
		about := map[string]json.RawMessage{}
		err := eachMember(d, func(key string) error {
			if key == "links" {
				return rd.links(d)
			}
			var value json.RawMessage
			err := d.Decode(&value)
			about[key] = value
			return err
		})
		if err != nil {
			return err
		}
		text, err := json.Marshal(about)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &rd.t.About)
	})
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more text")
	}
	return nil
}

// links reads the list of links, one at a time.
func (rd *reader) links(d *json.Decoder) error {
	if err := wantDelim(d, '['); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	for d.More() {
		var l linkRecord
		if err := d.Decode(&l); err != nil {
			return err
		}
		link, err := l.read()
		if err != nil {
			return fmt.Errorf("link %s: %w", l.Name, err)
		}
		rd.t.About.Links = append(rd.t.About.Links, link)
	}
	return wantDelim(d, ']')
}

// eachMember reads a JSON object. It calls the function `read` with the key of each member;
// that function must read the value.
func eachMember(d *json.Decoder, read func(key string) error) error {
	if err := wantDelim(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(key.(string)); err != nil { // keys of objects are strings
			return err
		}
	}
	return wantDelim(d, '}')
}

// wantDelim reads a delimiter and returns an error if it differs from `want`.
func wantDelim(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case token != want:
		return fmt.Errorf("%v stands where %v should", token, want)
	}
	return nil
}
