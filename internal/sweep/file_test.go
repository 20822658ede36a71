package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDamage: only a last line that was not written to its end is mended, all else has
// its line.
func TestDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	good := whole(t, numbers, Shard{2, 3})
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"part of the header", good[:30], ""},
		{"header", strings.SplitAfter(good, "\n")[0], ""},
		{"part of a line", good[:len(good)-1], ""},
		{"half a line", good[:len(good)-40], ""},
		{"zeros after a power failure", good + "\x00\x00\x00", ""},
		{"header damaged", strings.Replace(good, `"points":6`, `"points":x`, 1), ":1: damaged: invalid character"},
		{"shard of no kind", strings.Replace(good, `2/3`, `4/3`, 1), ":1: damaged: no shard 4 of 3"},
		{"header with more", strings.Replace(good, `"points":6`, `"points": 6`, 1), ":1: damaged: not as a sweep writes it: begin the file anew"},
		{"line damaged", strings.Replace(good, `"value":2}}`, `"value":2}`, 1), ":2: damaged: unexpected end of JSON input: delete the line to have its point run again"},
		{"bits", strings.Replace(good, `"row"`, `"rox"`, 1), ":2: damaged: not as a sweep writes it"},
		{"no row of ours", strings.Replace(good, `"value":2}`, `"value":"2"}`, 1), ":2: damaged: json: cannot unmarshal string"},
		{"another setting", strings.Replace(good, `"n":"2"`, `"n":"3"`, 1), ":2: damaged: point 1 is kind=a n=2"},
		{"another shard's point", strings.Replace(good, `"point":4`, `"point":3`, 1), ":3: damaged: point 3 is none of the 6 of shard 2/3"},
		{"no point", strings.Replace(good, `"point":4`, `"point":40`, 1), ":3: damaged: point 40 is none of the 6 of shard 2/3"},
		{"a point twice", good + good[strings.LastIndex(good[:len(good)-1], "\n")+1:], ":4: point 4 again, which line 3 has: delete the line"},
		{"two files in one", good + good, ":4: damaged: not as a sweep writes it"},
		{"an empty line", good + "\n", ":4: damaged: unexpected end of JSON input"},
		{"somebody else's", "bench: hello_send\n", " was not written by a sweep: move it, or choose another name"},
	} {
		write(t, file, tt.text)
		_, err := Run(t.Context(), Options{File: file, Identity: "v1", Shard: Shard{2, 3}, Resume: true}, numbers, named)
		if tt.want == "" {
			if got := read(t, file); err != nil || got != good {
				t.Errorf("%s: got %v and\n%s\nwant\n%s", tt.name, err, got, good)
			}
			continue
		}
		var refused *FileError
		if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), file+tt.want) {
			t.Errorf("%s: got %v, want it to begin with %s", tt.name, err, file+tt.want)
		}
		if got := read(t, file); got != tt.text {
			t.Errorf("%s: the file was changed to\n%s", tt.name, got)
		}
	}
}

// TestRefused: a file is taken over only by the sweep that began it.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "r.jsonl")
	write(t, file, whole(t, numbers, Shard{}))
	for _, tt := range []struct {
		o      Options
		points []Point
		want   string
	}{
		{Options{File: file, Identity: "v2", Resume: true}, numbers, file + " has results of something else, which cannot be gone on with:\n  it has v1\n  this is v2\nleave out --resume to begin"},
		{Options{File: file, Identity: "v1", Resume: true}, numbers[:5], file + " has results of other points, which cannot be gone on with: it is of a grid of 6 points"},
		{Options{File: file, Identity: "v1", Resume: true, Shard: Shard{1, 2}}, numbers, file + " is the file of the whole sweep, and this is shard 1/2: give each a file of its own"},
		{Options{File: file, Identity: "v1"}, numbers, file + " has 6 of 6 points: --resume goes on with them, --replace begins anew"},
		{Options{File: dir}, numbers, dir + " is no regular file"},
		{Options{File: filepath.Join(dir, "no", "r.jsonl")}, numbers, "no folder " + filepath.Join(dir, "no") + " to write r.jsonl in: create it first"},
		{Options{Shard: Shard{3, 2}}, numbers, "no shard 3 of 2: the first is 1/2 and the last 2/2"},
	} {
		if _, err := Run(t.Context(), tt.o, tt.points, named); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want it to begin with %s", err, tt.want)
		}
	}
	if got, want := read(t, file), whole(t, numbers, Shard{}); got != want {
		t.Errorf("the file was changed (-want +got):\n%s", cmp.Diff(want, got))
	}
	// Begun anew, a file may be of anything.
	if _, err := Run(t.Context(), Options{File: file, Identity: "v2", Replace: true, Shard: Shard{1, 2}}, numbers, named); err != nil {
		t.Error(err)
	}
}

// TestLocked: one process writes a file, and others learn which.
func TestLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	f, _, err := openLocked(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{File: file}, numbers, named)
	want := fmt.Sprintf("process %d is writing %s: wait for its end, stop it, or choose another name", os.Getpid(), file)
	// Some file systems have numbers of their own in /proc/locks.
	if other := strings.Replace(want, fmt.Sprint("process ", os.Getpid()), "another process", 1); err == nil || err.Error() != want && err.Error() != other {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Options{File: file}, numbers, named); err != nil {
		t.Error(err)
	}
}

// TestLink: results go where a link leads, and what was left behind is in nobody's way.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "link.jsonl")
	write(t, file, "")
	write(t, file+".tmp", "half a file")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	// The second of two points first, so that there is something to put in order.
	o := Options{File: link, Identity: "v1"}
	h := header{Identity: "v1", Points: 6, Grid: digest(numbers)}
	write(t, file, string(h.line())+"\n"+string(newRecord(5, numbers[5], []byte(`{"name":"kind=b n=3","value":2}`)).line())+"\n")
	o.Resume = true
	if _, err := Run(t.Context(), o, numbers, named); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(t, numbers, Shard{}), read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v, want the file and the link", entries, err)
	}
}

// FuzzParse: whatever a file has, what is read of it is what is written of it.
func FuzzParse(f *testing.F) {
	good := whole(f, numbers, Shard{2, 3})
	f.Add(good)
	f.Add(good[:len(good)-7])
	f.Add("{\"sweep\":{}}\n{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("r.jsonl", []byte(text))
		if err != nil || c.size == 0 {
			return
		}
		again := string(c.header.line()) + "\n"
		for _, r := range c.records {
			again += string(r.line()) + "\n"
		}
		if again != text[:c.size] {
			t.Errorf("got %q, want %q", again, text[:c.size])
		}
	})
}
