package oplog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/kernbench/kernbench/internal/file"
)

const (
	maxFileBytes = 16 << 30
	maxPipeBytes = 1 << 30 // of what can be read once only, and is kept before it is checked
)

// Open reads a log from a file until ctx ends. The checksum of a regular file is verified
// before the file is kept in memory.
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

// verify reads a log and compares its checksum.
func verify(r io.Reader) error {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r, start); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if !bytes.Equal(start, []byte(magic)) {
		return errors.New(noLog)
	}
	// The last bytes read so far may be the checksum, which it does not cover.
	sum := crc32.Checksum(start, castagnoli)
	buf := make([]byte, 1<<16+checksumBytes)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		if n += held; n > checksumBytes {
			sum = crc32.Update(sum, castagnoli, buf[:n-checksumBytes])
			held = copy(buf, buf[n-checksumBytes:n])
		} else {
			held = n
		}
		switch {
		case err == io.EOF && held < checksumBytes:
			return fmt.Errorf("the file ends in the middle; %s", again)
		case err == io.EOF:
			return checkSum(binary.LittleEndian.Uint32(buf[:held]), sum)
		case err != nil:
			return err
		}
	}
}

// checkSum compares the checksum of a log with that of its bytes.
func checkSum(want, got uint32) error {
	if got != want {
		return fmt.Errorf("the checksum is %#08x, that of the bytes before it %#08x; %s", want, got, again)
	}
	return nil
}
