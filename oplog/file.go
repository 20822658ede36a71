package oplog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/kernbench/kernbench/internal/file"
)

// A log file consists of these parts, in this order:
//
//	magic      8 bytes, "kboplog\n"
//	version    uvarint, 1
//	header     uvarint length, then Header as JSON
//	PEs        uvarint count, then strings
//	lines      uvarint count, then strings
//	launches   uvarint count, then records
//	ops        uvarint count, then records
//	effects    uvarint count, then records
//	checksum   CRC-32C of all bytes before it, 4 bytes, little-endian
//
// Varints are encoded as in encoding/binary. A string is a uvarint length and its bytes.
// A record starts with a uvarint in which bit i says that field i is not 0, followed by
// these fields as varints. walk.go lists the fields in order; the lengths of the record's
// lists come last. The elements of the lists follow the record. A float is encoded as its
// bits with the bytes reversed, which makes common values short. The issue time of an
// operation is relative to that of the previous operation, its start to its issue, and
// its end to its start. The operation of an effect is relative to that of the previous
// effect.
const (
	magic   = "kboplog\n"
	version = 1

	checksumBytes  = 4
	maxHeaderBytes = 1 << 20
	flushBytes     = 1 << 16
)

const noLog = `this is no op log, which starts with "kboplog\n"; name a file that was recorded as one`

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header describes the origin of a log.
type Header struct {
	Tool   string            `json:"tool"`   // version of the program that recorded the log
	Config string            `json:"config"` // hash of the effective configuration
	Notes  map[string]string `json:"notes,omitempty"`
}

// Encode writes header h and log l to w in the format that Decode reads. It returns an
// error for a log that Decode would reject.
func Encode(w io.Writer, h Header, l *Log) error {
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("op log: write the header: %w", err)
	}
	if len(text) > maxHeaderBytes {
		return fmt.Errorf("op log: write the header: it has %d bytes, of which %d are allowed: shorten its notes", len(text), maxHeaderBytes)
	}
	c := &coder{out: w}
	c.buf = append(c.buf, magic...)
	c.buf = binary.AppendUvarint(c.buf, version)
	c.blob(&text)
	c.log(l)
	c.flush()
	c.write(binary.LittleEndian.AppendUint32(nil, c.sum))
	if c.err != nil {
		return fmt.Errorf("op log: write: %w", c.err)
	}
	return nil
}

// Decode reads a log from a file. It stops with an error when ctx ends. The memory that it
// needs grows with the size of the file, never with the counts that the file claims. The
// data of all host writes share one buffer.
func Decode(ctx context.Context, r io.Reader) (Header, *Log, error) {
	file, err := io.ReadAll(r)
	if err != nil {
		return Header{}, nil, fmt.Errorf("op log: read after byte %d: %w", len(file), err)
	}
	c := &coder{ctx: ctx, in: file, end: max(0, len(file)-checksumBytes)}
	h := c.header()
	l := &Log{}
	c.log(l)
	if c.err == nil {
		c.checkEnd()
	}
	if c.err != nil {
		return Header{}, nil, fmt.Errorf("op log: %w", c.err)
	}
	l.lines = make(map[string]int32, len(l.Lines))
	for i, line := range l.Lines {
		l.lines[line] = int32(i)
	}
	return h, l, nil
}

// header reads everything that precedes the tables of the log, and returns the Header.
func (c *coder) header() (h Header) {
	c.part = "header"
	if !bytes.HasPrefix(c.in[:c.end], []byte(magic)) {
		c.fail(noLog)
		return h
	}
	c.off = len(magic)
	if v := c.uvarint(); c.err == nil && v != version {
		c.fail("its format has version %d, this program reads %d; record the run again, or replay it with the program that recorded it", v, version)
		return h
	}
	at := c.off
	var text []byte
	c.blob(&text)
	if len(text) > maxHeaderBytes {
		c.off = at
		c.fail("it has %d bytes, of which %d are allowed; %s", len(text), maxHeaderBytes, damageAdvice)
	}
	if c.err != nil {
		return h
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		c.off = at
		c.fail("%v; %s", err, damageAdvice)
	}
	return h
}

// checkEnd checks that the whole file has been read and that its checksum is correct.
func (c *coder) checkEnd() {
	c.part = "end"
	if c.off != c.end || len(c.in)-c.end != checksumBytes {
		c.fail("%d bytes are left, of which the checksum takes %d; %s", len(c.in)-c.off, checksumBytes, damageAdvice)
		return
	}
	if err := checkSum(binary.LittleEndian.Uint32(c.in[c.end:]), crc32.Checksum(c.in[:c.end], castagnoli)); err != nil {
		c.fail("%w", err)
	}
}

const (
	maxFileBytes = 16 << 30
	maxPipeBytes = 1 << 30 // for input that can be read only once, and is kept in memory before it is checked
)

// Open reads a log from the file with the given name. It stops with an error when ctx ends.
// For a regular file, it verifies the checksum before it loads the file into memory.
func Open(ctx context.Context, name string) (h Header, l *Log, err error) {
	r, err := file.Open(ctx, name, maxFileBytes)
	if err != nil {
		return h, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !r.Rewindable() {
		return Decode(ctx, io.LimitReader(r, maxPipeBytes))
	}
	if err := verify(r); err != nil {
		return h, nil, fmt.Errorf("op log: %w", err)
	}
	if err := r.Rewind(); err != nil {
		return h, nil, err
	}
	return Decode(ctx, r)
}

// verify reads a whole file and returns an error if it is not a log or its checksum is
// wrong.
func verify(r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(len(magic))
	if err != nil && err != io.EOF {
		return err
	}
	if string(start) != magic {
		return errors.New(noLog)
	}
	sum := crc32.Checksum(start, castagnoli)
	for done := len(magic); ; {
		in.Discard(done) // included in sum
		buf, err := in.Peek(in.Size())
		if err != nil && err != io.EOF {
			return err
		}
		if done = len(buf) - checksumBytes; done < 0 {
			return fmt.Errorf("the file ends in the middle; %s", damageAdvice)
		}
		sum = crc32.Update(sum, castagnoli, buf[:done])
		if err == io.EOF {
			return checkSum(binary.LittleEndian.Uint32(buf[done:]), sum)
		}
	}
}

// checkSum returns an error if `want`, the checksum in a file, differs from `got`, the
// checksum of the bytes before it.
func checkSum(want, got uint32) error {
	if got != want {
		return fmt.Errorf("the checksum is %#08x, that of the bytes before it %#08x; %s", want, got, damageAdvice)
	}
	return nil
}
