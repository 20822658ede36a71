package oplog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOpen checks that Open reads a log, and that Open and Decode return the cause of a
// context that has ended.
func TestOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.oplog")
	h, l := sample()
	for range 10_000 { // make the file longer than the buffer of verify
		l.Effect(l.Add(l.Ops[1]), Read)
	}
	good := encode(t, h, l)
	if err := os.WriteFile(name, good, 0o666); err != nil {
		t.Fatal(err)
	}
	gotH, got, err := Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, gotH) + cmp.Diff(l, got, sameLog...); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, _, err := Open(ctx, name); !errors.Is(err, why) {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, _, err := Decode(ctx, bytes.NewReader(good)); !errors.Is(err, why) {
		t.Errorf("Decode after the end of the context: %v", err)
	}
}

// TestOpenHuge checks that Open rejects a huge file that is not a log or has a wrong
// checksum without loading the file into memory. It also checks the error for files that
// end in the middle.
func TestOpenHuge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.oplog")
	for _, tt := range []struct{ start, want string }{
		{"", "op log: " + noLog},
		{magic + "\x01", "op log: the checksum is 0x00000000, that of the bytes before it 0x"},
	} {
		if err := os.WriteFile(name, []byte(tt.start), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 256<<20); err != nil { // sparse
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Open(t.Context(), name)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.start, err, tt.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%q: %d bytes were allocated", tt.start, n)
		}
	}
	for _, short := range []string{magic, magic + "\x01\x02"} {
		if err := os.WriteFile(name, []byte(short), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), "the file ends in the middle") {
			t.Errorf("%q: got %v", short, err)
		}
	}
}
