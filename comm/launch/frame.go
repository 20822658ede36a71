package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Launcher and rank talk in frames over two pipes: a kind, the number of bytes that
// follow, and those.
type frameKind uint8

const (
	frameOrder frameKind = 1 + iota // to the rank: an order, as JSON
	frameArg                        // then the job's argument
	frameStop                       // and perhaps: end, because of this

	frameArrived // from the rank: it runs
	frameOpened  // it begins its job
	frameResult  // of the job
	frameFailed  // whom to blame, and the text of an error
)

const frameHeader = 9

func writeFrame(w io.Writer, kind frameKind, b []byte) error {
	var head [frameHeader]byte
	head[0] = byte(kind)
	binary.LittleEndian.PutUint64(head[1:], uint64(len(b)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// readFrame reads the next frame; io.EOF means that there is none.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint64(head[1:])
	if n > 1<<46 {
		return 0, nil, fmt.Errorf("a frame of %d bytes: something else was written to the pipe", n)
	}
	var b bytes.Buffer // which grows as they come: the number may be wrong
	if _, err := io.CopyN(&b, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return frameKind(head[0]), b.Bytes(), nil
}

// expect reads a frame of a kind.
func expect(r io.Reader, kind frameKind) ([]byte, error) {
	got, b, err := readFrame(r)
	if err == nil && got != kind {
		err = fmt.Errorf("frame of kind %d, want %d", got, kind)
	}
	return b, err
}
