package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/table"
)

// TestMerge checks the file that a merge writes, the missing points, and the errors for
// files that cannot be merged.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text)
		return path
	}
	all := wholeFile(t, numbers, Shard{})
	one, two := file("1", wholeFile(t, numbers, Shard{1, 2})), file("2", wholeFile(t, numbers, Shard{2, 2}))
	third := file("3", wholeFile(t, numbers, Shard{1, 3}))
	other := file("other", strings.Replace(withoutChecksums(all), "v1", "v2", 1))
	fewer := file("fewer", wholeFile(t, numbers[:3], Shard{}))
	wrong := file("wrong", strings.Replace(withoutChecksums(all), `a n=2","value":2`, `a n=2","value":3`, 1))
	empty := file("empty", all[:20])
	foreign := file("foreign", "bench: x\n")
	for _, tt := range []struct {
		files   []string
		partial bool
		want    string // text of the file, or prefix of the error
		missing []int
	}{
		{[]string{two, one}, false, all, nil},
		{[]string{one, two, one, third}, false, all, nil},
		{[]string{file("whole", all)}, false, all, nil},
		{[]string{one}, true, partial(t, 0, 2, 4), []int{1, 3, 5}},
		{[]string{one}, false, "3 of 6 points are in none of the files: 1, 3, 5 (of shard 2/2)", []int{1, 3, 5}},
		{[]string{one, third}, false, "2 of 6 points are in none of the files: 1, 5", []int{1, 5}},
		{[]string{one, other}, false, one + " and " + other + " are not of one sweep:\n  v1\n  v2\nleave out one of them", nil},
		{[]string{one, fewer}, false, one + " and " + fewer + " are not of one sweep: of 6 points (digest", nil},
		{[]string{two, wrong}, false, `point 1 ({"kind":"a","n":"2"}) has different rows in ` + two + " and " + wrong, nil},
		{[]string{one, empty}, true, empty + ": the file is empty: its sweep has not begun", nil},
		{[]string{one, foreign}, true, foreign + " was not written by a sweep", nil},
	} {
		write(t, out, "")
		m, err := Merge(t.Context(), out, MergeOptions{Partial: tt.partial}, tt.files...)
		got := read(t, out)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || err == nil && got != tt.want {
			t.Errorf("%v: got\n%s\nwant\n%s", tt.files, got, tt.want)
		}
		if tt.missing != nil && !cmp.Equal(m.Missing, tt.missing) {
			t.Errorf("%v: missing: got %v, want %v", tt.files, m.Missing, tt.missing)
		}
	}
	if _, err := Merge(t.Context(), foreign, MergeOptions{}, one, two); err == nil || read(t, foreign) != "bench: x\n" {
		t.Errorf("a file that is no sweep's is overwritten: %v", err)
	}
	had := read(t, one)
	want := one + " has points of this sweep that none of the files has, and would lose them: 0, 2, 4; name it among the files too"
	if _, err := Merge(t.Context(), one, MergeOptions{Partial: true}, two); err == nil || !strings.HasPrefix(err.Error(), want) || read(t, one) != had {
		t.Errorf("over a shard: got %v and\n%s\nwant %s and\n%s", err, read(t, one), want, had)
	}
	had, want = read(t, other), other+" has points of another sweep, and would lose them: choose another name, or delete it first"
	if _, err := Merge(t.Context(), other, MergeOptions{}, one, two); err == nil || err.Error() != want || read(t, other) != had {
		t.Errorf("over another sweep: got %v and\n%s\nwant %s and\n%s", err, read(t, other), want, had)
	}
	if _, err := Merge(t.Context(), one, MergeOptions{}, one, two); err != nil || read(t, one) != all {
		t.Errorf("into one of the files: %v and\n%s\nwant\n%s", err, read(t, one), all)
	}
}

// partial returns the text of a file that contains only the given points of a sweep.
func partial(t *testing.T, points ...int) string {
	h := header{Identity: "v1", Points: len(numbers), Grid: digest(numbers)}
	var records []record
	for _, i := range points {
		row, _ := nameRow(t.Context(), i, numbers[i])
		raw, err := table.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, newRecord(i, numbers[i], raw))
	}
	return string(lines(h, records))
}

// TestMergeIntoDamaged checks that a merge does not replace a damaged file, because its
// good points would be lost.
func TestMergeIntoDamaged(t *testing.T) {
	dir := t.TempDir()
	out, in := filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "in.jsonl")
	all := wholeFile(t, numbers, Shard{})
	write(t, in, partial(t, 0, 2, 4))
	for _, damaged := range []string{
		strings.Replace(all, `"n":"2"`, `"n":"4"`, 1),
		strings.Replace(all, `"n":"2"`, `"n":2`, 1),
		strings.Replace(all, "v1", "v3", 1), // perhaps a file of another sweep
	} {
		write(t, out, damaged)
		_, err := Merge(t.Context(), out, MergeOptions{Partial: true}, in)
		if err == nil || !strings.Contains(err.Error(), "damaged: its checksum is wrong") || !strings.HasSuffix(err.Error(), "; or choose another name for the merged file") || read(t, out) != damaged {
			t.Errorf("got %v and\n%s\nwant it refused, and\n%s", err, read(t, out), damaged)
		}
	}
}

// TestMergeLeavesNothing checks that a merge that fails writes no file.
func TestMergeLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in.jsonl", partial(t, 0, 2, 4))
	if _, err := Merge(t.Context(), "out.jsonl", MergeOptions{}, "in.jsonl"); err == nil {
		t.Error("missing points are accepted")
	}
	if _, err := Merge(t.Context(), "no/out.jsonl", MergeOptions{Partial: true}, "in.jsonl"); err == nil || err.Error() != "no folder no to write out.jsonl in: create it first" {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// TestRanges checks that formatRanges joins consecutive numbers and shows at most twelve
// ranges.
func TestRanges(t *testing.T) {
	var odd []int
	for i := range 20 {
		odd = append(odd, 2*i+1)
	}
	for _, tt := range []struct {
		list []int
		want string
	}{
		{[]int{3}, "3"},
		{[]int{0, 1, 2, 5, 7, 8}, "0-2, 5, 7-8"},
		{odd, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, ..."},
	} {
		if got := formatRanges(tt.list); got != tt.want {
			t.Errorf("%v: got %s, want %s", fmt.Sprint(tt.list), got, tt.want)
		}
	}
}
