package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/table"
)

var sums = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"`)

// withoutChecksums returns the text of a file without its checksums, as early versions
// wrote it.
func withoutChecksums(text string) string { return sums.ReplaceAllString(text, "") }

// TestDamage checks that an incomplete last line is removed, and that any other damage is
// an error that names the damaged line. The files have no checksums, so that checks other
// than checksums find the damage.
func TestDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	good := withoutChecksums(wholeFile(t, numbers, Shard{2, 3}))
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"part of the header", good[:30], ""},
		{"header", strings.SplitAfter(good, "\n")[0], ""},
		{"part of a line", good[:len(good)-1], ""},
		{"half a line", good[:len(good)-40], ""},
		{"zeros after a power failure", good + "\x00\x00\x00", ""},
		{"too many points", strings.Replace(good, `"points":6`, `"points":100000000`, 1), ":1: damaged: 100000000 points, and a sweep has at most 1000000"},
		{"header damaged", strings.Replace(good, `"points":6`, `"points":x`, 1), ":1: damaged: invalid character"},
		{"shard of no kind", strings.Replace(good, `2/3`, `4/3`, 1), ":1: damaged: no shard 4 of 3"},
		{"header with more", strings.Replace(good, `"points":6`, `"points": 6`, 1), ":1: damaged: not as a sweep writes it: start the file again"},
		{"line damaged", strings.Replace(good, `"value":2}}`, `"value":2}`, 1), ":2: damaged: unexpected end of JSON input: delete the line to have its point run again"},
		{"bits", strings.Replace(good, `"row"`, `"rox"`, 1), ":2: damaged: not as a sweep writes it"},
		{"no row of ours", strings.Replace(good, `"value":2}`, `"value":"2"}`, 1), ":2: damaged: json: cannot unmarshal string"},
		{"another setting", strings.Replace(good, `"n":"2"`, `"n":"3"`, 1), ":2: damaged: point 1 is kind=a n=2"},
		{"another shard's point", strings.Replace(good, `"point":4`, `"point":3`, 1), ":3: damaged: point 3 is none of the 6 of shard 2/3"},
		{"no point", strings.Replace(good, `"point":4`, `"point":40`, 1), ":3: damaged: point 40 is none of the 6 of shard 2/3"},
		{"a point twice", good + good[strings.LastIndex(good[:len(good)-1], "\n")+1:], ":4: point 4 again, which line 3 has: delete the line"},
		{"two files in one", good + good, ":4: damaged: not as a sweep writes it"},
		{"an empty line", good + "\n", ":4: damaged: unexpected end of JSON input"},
		{"no sweep", "bench: hello_send\n", " was not written by a sweep: move it, or choose another name"},
	} {
		write(t, file, tt.text)
		_, err := Run(t.Context(), Options{File: file, Identity: "v1", Shard: Shard{2, 3}, Resume: true}, numbers, nameRow, nil)
		if tt.want == "" {
			if got := withoutChecksums(read(t, file)); err != nil || got != good {
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

// TestRefused checks the errors for files and shards that a sweep cannot use, such as the
// file of another sweep, and that a refused file does not change.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "r.jsonl")
	write(t, file, wholeFile(t, numbers, Shard{}))
	for _, tt := range []struct {
		o      Options
		points []Point
		want   string
	}{
		{Options{File: file, Identity: "v2", Resume: true}, numbers, file + " has results of another run, which --resume cannot continue:\n  it has v1\n  this is v2\nleave out --resume to start"},
		{Options{File: file, Identity: "v1", Resume: true}, numbers[:5], file + " has results of other points, which --resume cannot continue: it is of a grid of 6 points"},
		{Options{File: file, Identity: "v1", Resume: true, Shard: Shard{1, 2}}, numbers, file + " is the file of the whole sweep, and this is shard 1/2: give each a file of its own"},
		{Options{File: file, Identity: "v1"}, numbers, file + " has 6 of 6 points: --resume continues them, --replace starts again"},
		{Options{File: dir}, numbers, dir + " is no regular file"},
		{Options{File: filepath.Join(dir, "no", "r.jsonl")}, numbers, "no folder " + filepath.Join(dir, "no") + " to write r.jsonl in: create it first"},
		{Options{Shard: Shard{3, 2}}, numbers, "no shard 3 of 2: the first is 1/2 and the last 2/2"},
	} {
		if _, err := Run(t.Context(), tt.o, tt.points, nameRow, nil); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want it to begin with %s", err, tt.want)
		}
	}
	if got, want := read(t, file), wholeFile(t, numbers, Shard{}); got != want {
		t.Errorf("the file was changed (-want +got):\n%s", cmp.Diff(want, got))
	}
	// A file that is begun anew may belong to any sweep.
	if _, err := Run(t.Context(), Options{File: file, Identity: "v2", Replace: true, Shard: Shard{1, 2}}, numbers, nameRow, nil); err != nil {
		t.Error(err)
	}
}

// TestLocked checks that only one process can write a file. The error for any other process
// names the process that writes the file.
func TestLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	f, _, err := openLocked(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Options{File: file}, numbers, nameRow, nil)
	want := fmt.Sprintf("process %d is writing %s: wait for its end, stop it, or choose another name", os.Getpid(), file)
	// On some file systems, /proc/locks has other numbers than Stat.
	if other := strings.Replace(want, fmt.Sprint("process ", os.Getpid()), "another process", 1); err == nil || err.Error() != want && err.Error() != other {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Options{File: file}, numbers, nameRow, nil); err != nil {
		t.Error(err)
	}
}

// TestLink checks that results are written to the target if the file of results is a
// symbolic link, and that other files in the folder do not change.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "link.jsonl")
	write(t, file, "")
	write(t, file+".tmp", "a user's file")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	// The file begins with the last point, so that the lines must be sorted.
	o := Options{File: link, Identity: "v1"}
	h := header{Identity: "v1", Points: 6, Grid: digest(numbers)}
	write(t, file, string(h.line())+"\n"+string(newRecord(5, numbers[5], []byte(`{"name":"kind=b n=3","value":2}`)).line(h.seed()))+"\n")
	o.Resume = true
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wholeFile(t, numbers, Shard{}), read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v, %v, want the file, the link and the other file", entries, err)
	}
	if got := read(t, file+".tmp"); got != "a user's file" {
		t.Errorf("the file next to the results has %q", got)
	}
}

// FuzzParse checks that writing what was read from a file gives the same text.
func FuzzParse(f *testing.F) {
	good := wholeFile(f, numbers, Shard{2, 3})
	f.Add(good)
	f.Add(good[:len(good)-7])
	f.Add("{\"sweep\":{}}\n{}\n")
	f.Add(withoutChecksums(good))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("r.jsonl", strings.NewReader(text))
		if err != nil || c.size == 0 {
			return
		}
		again, want := string(lines(c.header, c.records)), text[:c.size]
		if !c.hasChecksums { // the header may have been that of an early version
			_, again, _ = strings.Cut(withoutChecksums(again), "\n")
			_, want, _ = strings.Cut(want, "\n")
		}
		if again != want {
			t.Errorf("got %q, want %q", again, want)
		}
	})
}

// TestBits flips each bit of a file in turn. It checks that reading the file then either
// returns an error or returns all points except the last.
func TestBits(t *testing.T) {
	good := []byte(wholeFile(t, numbers, Shard{2, 3}))
	want, err := parse("r.jsonl", bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			c, err := parse("r.jsonl", bytes.NewReader(bad))
			if err != nil {
				continue
			}
			if i != len(good)-1 || c.missing() != 1 || len(c.records) != 1 || !c.records[0].equal(want.records[0]) {
				t.Errorf("bit %d of byte %d (%q) passes", bit, i, bad[max(0, i-5):min(i+5, len(bad))])
			}
		}
	}
}

// TestForeignRow checks that a file is refused if one of its lines was copied from the file
// of another sweep.
func TestForeignRow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	if _, err := Run(t.Context(), Options{File: file, Identity: "v2", Workers: 1}, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	ours, theirs := strings.SplitAfter(wholeFile(t, numbers, Shard{}), "\n"), strings.SplitAfter(read(t, file), "\n")
	mixed := strings.Join(append(ours[:3:3], theirs[3:]...), "")
	write(t, file, mixed)
	want := file + ":4: damaged: its checksum is wrong: delete the line to have its point run again"
	if _, err := Run(t.Context(), Options{File: file, Identity: "v1", Resume: true}, numbers, nameRow, nil); err == nil || err.Error() != want {
		t.Errorf("resume: got %v, want %s", err, want)
	}
	if _, err := Merge(t.Context(), file+"l", MergeOptions{}, file); err == nil || err.Error() != want {
		t.Errorf("merge: got %v, want %s", err, want)
	}
	if _, _, err := ReadFile(t.Context(), file); err == nil || err.Error() != want {
		t.Errorf("read: got %v, want %s", err, want)
	}
}

// TestEarly checks that a sweep can continue a file of an early version, and adds checksums
// to the file.
func TestEarly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	o := Options{File: file, Identity: "bench x", Program: "0.1.0 0123456789ab", Workers: 1}
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	want := read(t, file)
	old := strings.Replace(withoutChecksums(want), `"identity":"bench x","programs":["0.1.0 0123456789ab"]`, `"identity":"kernbench 0.1.0, program 0123456789ab, bench x"`, 1)
	part := strings.Join(strings.SplitAfter(old, "\n")[:4], "")
	write(t, file, part)
	c, err := load(t.Context(), file)
	if err != nil || len(c.records) != 3 || c.missing() != 3 {
		t.Fatalf("got %+v, %v, want 3 points of 6", c, err)
	}
	o.Resume, o.Strict = true, true
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(t, file)); diff != "" {
		t.Errorf("continued (-want +got):\n%s", diff)
	}
	// A file that has all points is not changed.
	write(t, file, old)
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil || read(t, file) != old {
		t.Errorf("got %v and\n%s\nwant\n%s", err, read(t, file), old)
	}
}

// TestSchema checks that the first line of a file contains the columns, and that a file
// with other columns is refused. A file of an early version has no columns, and a sweep
// adds them.
func TestSchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	o := Options{File: file, Identity: "v1", Workers: 1, Schema: table.Schema{
		"settings": {{Name: "kind", Role: table.Setting}, {Name: "n", Role: table.Setting}},
		"row":      {{Name: "value", Unit: "ns", Role: table.Lower, Label: "latency"}},
	}}
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	all := read(t, file)
	first, _, _ := strings.Cut(all, "\n")
	if want := `{"sweep":{"identity":"v1","points":6,"grid":"` + digest(numbers) + `","schema":{"row":[{"name":"value","unit":"ns","role":"lower","label":"latency"}],"settings":[{"name":"kind","role":"setting"},{"name":"n","role":"setting"}]}},"sum":"aaef1b54"}`; first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	wantColumns := []table.Column{o.Schema["settings"][0], o.Schema["settings"][1], {Name: "name"}, o.Schema["row"][0]}
	if tables, _, err := ReadFile(t.Context(), file); err != nil || !cmp.Equal(tables[0].Columns, wantColumns) {
		t.Errorf("read: got %v, %v, want %v", tables[0].Columns, err, wantColumns)
	}
	o.Resume = true
	plain := wholeFile(t, numbers, Shard{})
	for _, had := range []string{plain, plain[:len(plain)-1], withoutChecksums(plain)} {
		write(t, file, had)
		if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil || read(t, file) != all {
			t.Errorf("continued: %v and\n%s\nwant\n%s", err, read(t, file), all)
		}
	}
	other := o
	other.Schema = table.Schema{"settings": o.Schema["settings"]}
	want := file + " has results with other columns, which --resume cannot continue: leave out --resume to start the file again, or choose another name"
	if _, err := Run(t.Context(), other, numbers, nameRow, nil); err == nil || err.Error() != want || read(t, file) != all {
		t.Errorf("other columns: got %v, want %s", err, want)
	}
	// A merge takes the columns of the file that has them.
	early := file + "l"
	write(t, early, plain)
	for _, files := range [][]string{{file, early}, {early, file}} {
		if _, err := Merge(t.Context(), file, MergeOptions{}, files...); err != nil || read(t, file) != all {
			t.Errorf("merge of %v: %v and\n%s\nwant\n%s", files, err, read(t, file), all)
		}
	}
	other.File, other.Resume = file+"2", false
	if _, err := Run(t.Context(), other, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	want = file + " and " + other.File + " have results with different columns: leave out one of them"
	if _, err := Merge(t.Context(), early, MergeOptions{}, file, other.File); err == nil || err.Error() != want {
		t.Errorf("merge of other columns: got %v, want %s", err, want)
	}
}

// TestAnotherProgram checks that points that another build of the program measured are kept
// with a warning, or refused if Strict is set.
func TestAnotherProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	o := Options{File: file, Identity: "v1", Program: "1 a", Workers: 1}
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	all := read(t, file)
	var warned []string
	o = Options{File: file, Identity: "v1", Program: "1 b", Workers: 1, Resume: true, Warn: func(text string) { warned = append(warned, text) }}
	ran := func(context.Context, int, Point) (row, error) { return row{}, errors.New("this point has a row") }
	if _, err := Run(t.Context(), o, numbers, ran, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{file + " has points of another build of the program (1 a, and this is 1 b): they are kept, since the points and their configuration are the same; --strict refuses them"}
	if diff := cmp.Diff(want, warned); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := read(t, file); got != all {
		t.Errorf("the file was changed to\n%s", got)
	}
	o.Strict = true
	refused := file + " has points of another build of the program (1 a, and this is 1 b): leave out --strict to keep them, or --resume to start the file again"
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err == nil || err.Error() != refused {
		t.Errorf("strict: got %v, want %s", err, refused)
	}
	// A point that runs adds its program to the file.
	write(t, file, all[:len(all)-1])
	o.Strict = false
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file); !strings.Contains(got, `"programs":["1 a","1 b"]`) || strings.Count(got, "\n") != 7 {
		t.Errorf("continued:\n%s", got)
	}
	refused = "the points are of different builds of the program (1 a, 1 b): leave out --strict to put them together"
	if _, err := Merge(t.Context(), file+"l", MergeOptions{Strict: true}, file); err == nil || err.Error() != refused {
		t.Errorf("strict merge: got %v, want %s", err, refused)
	}
}

// TestRemovedOrReplaced checks that no point is lost and no other file is overwritten if
// the file of results is removed or replaced during the sweep.
func TestRemovedOrReplaced(t *testing.T) {
	for _, after := range []int{1, 3, 6} {
		for _, newcomer := range []string{"", "another file\n"} {
			t.Run(fmt.Sprintf("after %d %q", after, newcomer), func(t *testing.T) {
				t.Chdir(t.TempDir())
				o := Options{File: "r.jsonl", Identity: "v1", Workers: 1, Progress: func(done, _ int, _ time.Duration) {
					if done != after {
						return
					}
					if err := os.Remove("r.jsonl"); err != nil {
						t.Fatal(err)
					}
					if newcomer != "" {
						write(t, "r.jsonl", newcomer)
					}
				}}
				_, err := Run(t.Context(), o, numbers, nameRow, nil)
				kept, _ := filepath.Glob("r.kept-*.jsonl")
				if newcomer == "" {
					if got := read(t, "r.jsonl"); err != nil || got != wholeFile(t, numbers, Shard{}) || kept != nil {
						t.Errorf("got %v, %v and\n%s", err, kept, got)
					}
					return
				}
				if len(kept) != 1 || read(t, "r.jsonl") != newcomer {
					t.Fatalf("kept as %v; the other file has\n%s", kept, read(t, "r.jsonl"))
				}
				points := min(after+1, 6) // the point that noticed the other file is kept too
				want := fmt.Sprintf("another process has replaced r.jsonl: that file is left as it is, and the %d points of this sweep are in %s; continue with --resume --out %[2]s", points, kept[0])
				if err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				o = Options{File: kept[0], Identity: "v1", Resume: true}
				if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil || read(t, kept[0]) != wholeFile(t, numbers, Shard{}) {
					t.Errorf("continued: %v and\n%s", err, read(t, kept[0]))
				}
			})
		}
	}
}

// TestBegin checks that Begin is called after the file has been accepted, and not if the
// file is refused.
func TestBegin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	write(t, file, wholeFile(t, numbers, Shard{}))
	began := 0
	o := Options{File: file, Identity: "v2", Resume: true, Begin: func() error { began++; return nil }}
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err == nil || began != 0 {
		t.Errorf("a file of another sweep: %v, begun %d times", err, began)
	}
	o.Identity = "v1"
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); err != nil || began != 1 {
		t.Errorf("its own file: %v, begun %d times", err, began)
	}
	stop := errors.New("stop")
	o.Begin = func() error { return stop }
	if _, err := Run(t.Context(), o, numbers, nameRow, nil); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of Begin", err)
	}
}
