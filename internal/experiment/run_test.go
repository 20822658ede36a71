package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// row is the row type of the tests.
type row struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
}

// nameRow returns a row with the settings of the point as text and their number.
func nameRow(_ context.Context, _ int, p Point) (row, error) { return row{p.String(), len(p)}, nil }

var numbers = grid(Dimension{Name: "kind", Values: []string{"a", "b"}}, Dimension{Name: "n", Values: []string{"1", "2", "3"}})

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// wholeFile returns the text of the file that an uninterrupted sweep of a shard writes.
func wholeFile(t testing.TB, points []Point, shard Shard) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "whole.jsonl")
	if _, err := Run(t.Context(), Options{File: file, Identity: "v1", Shard: shard, Workers: 1}, points, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	return read(t, file)
}

// TestFile checks the text of the file that a sweep writes.
func TestFile(t *testing.T) {
	want := `{"sweep":{"identity":"v1","points":6,"grid":"` + digest(numbers) + `","shard":"2/3"},"sum":"84bd56a5"}
{"point":1,"settings":{"kind":"a","n":"2"},"row":{"name":"kind=a n=2","value":2},"sum":"e3114891"}
{"point":4,"settings":{"kind":"b","n":"2"},"row":{"name":"kind=b n=2","value":2},"sum":"0bde5a08"}
`
	if diff := cmp.Diff(want, wholeFile(t, numbers, Shard{2, 3})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := wholeFile(t, numbers, Shard{}); strings.Contains(got, "shard") || strings.Count(got, "\n") != 7 {
		t.Errorf("the whole sweep is\n%s\nwant 7 lines without a shard", got)
	}
}

// TestRows checks that Run returns rows in the order of the points. The rows are the values
// that were measured, or the values in a resumed file.
func TestRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	for _, file := range []string{"", file, file} {
		var progress []string
		o := Options{File: file, Workers: 3, Progress: func(done, total int, _ time.Duration) { progress = append(progress, fmt.Sprintf("%d/%d", done, total)) }}
		var ran atomic.Bool
		var each []int
		if _, err := os.Stat(file); err == nil {
			o.Resume = true
		}
		rows, err := Run(t.Context(), o, numbers, func(_ context.Context, _ int, p Point) (map[string]any, error) {
			ran.Store(true)
			return map[string]any{"n": p.Get("n"), "hidden": nil, "pi": 3}, nil
		}, func(index int, r map[string]any) {
			if want := strconv.Itoa(index%3 + 1); r["n"] != want {
				t.Errorf("each %d: got %v, want n=%s", index, r, want)
			}
			each = append(each, index)
		})
		if err != nil || ran.Load() == o.Resume {
			t.Fatalf("got %v; points ran: %v, want the opposite of resumed: %v", err, ran.Load(), o.Resume)
		}
		if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(each, want) {
			t.Errorf("each: got %v, want %v", each, want)
		}
		for i, r := range rows {
			want := map[string]any{"n": strconv.Itoa(i%3 + 1), "hidden": nil, "pi": 3}
			if o.Resume {
				want["pi"] = 3.0
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("row %d (-want +got):\n%s", i, diff)
			}
		}
		if o.Resume {
			if got, want := strings.Join(progress, " "), "6/6"; got != want {
				t.Errorf("progress: got %s, want %s", got, want)
			}
			continue
		}
		if got, want := strings.Join(progress, " "), "0/6 1/6 2/6 3/6 4/6 5/6 6/6"; got != want {
			t.Errorf("progress: got %s, want %s", got, want)
		}
	}
}

// TestFailed checks that the error names failed points and that Resume runs them again.
func TestFailed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	o := Options{File: file, Identity: "v1", Workers: 2}
	thrown := errors.New("thrown")
	rows, err := Run(t.Context(), o, numbers, func(ctx context.Context, _ int, p Point) (row, error) {
		switch p.String() {
		case "kind=b n=1":
			return row{}, errors.New("no luck")
		case "kind=a n=2":
			panic(thrown)
		case "kind=b n=3":
			list := []int{}
			return row{Value: list[len(p)]}, nil
		}
		return nameRow(ctx, 0, p)
	}, nil)
	var failed *Failed
	if !errors.As(err, &failed) || len(failed.Points) != 3 || failed.Total != 6 {
		t.Fatalf("got %v, want three points that failed", err)
	}
	for i, want := range []string{"point 1 (kind=a n=2): thrown", "point 3 (kind=b n=1): no luck", "point 5 (kind=b n=3): panic at run_test.go:132: runtime error: index out of range [2] with length 0"} {
		if got := failed.Points[i].Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got, want := err.Error(), "3 of 6 points failed\npoint 1 (kind=a n=2): thrown\npoint 3 (kind=b n=1): no luck\npoint 5 (kind=b n=3): panic at run_test.go:132: runtime error: index out of range [2] with length 0"; got != want || !errors.Is(err, thrown) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []row{{"kind=a n=1", 2}, {}, {"kind=a n=3", 2}, {}, {"kind=b n=2", 2}, {}}; !cmp.Equal(rows, want) {
		t.Errorf("rows: got %v, want %v", rows, want)
	}
	o.Resume = true
	var mu sync.Mutex
	ran := map[string]int{}
	if _, err := Run(t.Context(), o, numbers, func(ctx context.Context, _ int, p Point) (row, error) {
		mu.Lock()
		defer mu.Unlock()
		ran[p.String()]++
		return nameRow(ctx, 0, p)
	}, nil); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"kind=a n=2": 1, "kind=b n=1": 1, "kind=b n=3": 1}; !cmp.Equal(ran, want) {
		t.Errorf("run again: got %v, want %v", ran, want)
	}
	if diff := cmp.Diff(wholeFile(t, numbers, Shard{}), read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// TestReasonsAreSaidOnce checks that points whose errors differ only in numbers are
// reported together.
func TestReasonsAreSaidOnce(t *testing.T) {
	var points []Point
	for n := range 13 {
		points = append(points, Point{{Name: "n", Value: fmt.Sprint(n)}})
	}
	_, err := Run(t.Context(), Options{}, points, func(_ context.Context, _ int, p Point) (row, error) {
		if n := p[0].Value; n != "4" {
			return row{}, fmt.Errorf("deadlock at %s.5ns\n  pe%s waits", n, n)
		}
		return row{}, errors.New("no luck")
	}, nil)
	want := "13 of 13 points failed\npoint 0 (n=0): deadlock at 0.5ns\n  pe0 waits\n" +
		"  likewise point 1 (n=1), point 2 (n=2), point 3 (n=3), point 5 (n=5), point 6 (n=6), point 7 (n=7), point 8 (n=8), point 9 (n=9) and 3 more\n" +
		"point 4 (n=4): no luck"
	if got := fmt.Sprint(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestRowThatIsNoJSON checks that a point fails if its row cannot be written as JSON.
func TestRowThatIsNoJSON(t *testing.T) {
	o := Options{File: filepath.Join(t.TempDir(), "r.jsonl")}
	_, err := Run(t.Context(), o, numbers[:1], func(context.Context, int, Point) (func(), error) { return func() {}, nil }, nil)
	if got, want := fmt.Sprint(err), "1 of 1 points failed\npoint 0 (kind=a n=1): json: unsupported type: func()"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInterrupted checks that a canceled context stops the points that run and keeps the
// points that have ended. The error must not be a *Failed.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	rows, err := Run(ctx, Options{File: file, Identity: "v1", Workers: 2}, numbers, func(ctx context.Context, _ int, p Point) (row, error) {
		switch p.Get("n") {
		case "2": // ends with a row although the context has ended
			cancel(cause)
			return nameRow(ctx, 0, p)
		case "3":
			<-ctx.Done()
			return row{}, ctx.Err()
		}
		return nameRow(ctx, 0, p)
	}, nil)
	if !errors.Is(err, cause) || rows != nil {
		t.Errorf("got %v, %v, want no rows and %v", rows, err, cause)
	}
	for _, want := range []string{`"point":0,`, `"point":1,`} {
		if got := read(t, file); !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if _, err := Run(t.Context(), Options{File: file, Identity: "v1", Resume: true}, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wholeFile(t, numbers, Shard{}), read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// TestBrokenFile checks that an error when writing the file ends the sweep, and that a
// later sweep can continue the file.
func TestBrokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.jsonl")
	s := &state[row]{Options: Options{File: file, Identity: "v1", Workers: 1}, points: numbers}
	runs := 0
	s.run = func(ctx context.Context, _ int, p Point) (row, error) {
		if runs++; runs == 3 {
			if err := s.out.f.Close(); err != nil {
				t.Error(err)
			}
		}
		return nameRow(ctx, 0, p)
	}
	err := s.runAll(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "write results: write "+file) || runs != 3 {
		t.Errorf("got %v after %d points, want an error of the third write", err, runs)
	}
	if _, err := Run(t.Context(), Options{File: file, Identity: "v1", Resume: true}, numbers, nameRow, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wholeFile(t, numbers, Shard{}), read(t, file)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}
