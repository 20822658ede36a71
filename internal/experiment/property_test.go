package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAnySweep runs sweeps with random grids, workers, shards and interruptions. It checks
// that rows are complete and in order, that no point runs again if its line is whole, and
// that the merged files have the same bytes as an uninterrupted sweep.
func TestAnySweep(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		points := anyGrid(t)
		name := func(s string) string { return filepath.Join(dir, s+".jsonl") }
		o := Options{File: name("whole"), Identity: "v1", Replace: true, Workers: rapid.IntRange(1, 4).Draw(t, "workers")}
		rows, err := Run(t.Context(), o, points, nameRow, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if want := (row{points[i].String(), len(points[i])}); r != want {
				t.Fatalf("row %d: got %v, want %v", i, r, want)
			}
		}
		var files []string
		shards := rapid.IntRange(1, 4).Draw(t, "shards")
		for i := range shards {
			o := Options{File: name(fmt.Sprint(i)), Identity: "v1", Replace: true, Shard: Shard{i + 1, shards}}
			for kill := range rapid.IntRange(0, 3).Draw(t, "kills") {
				o.Resume = kill > 0
				interrupt(t, o, points)
				o.Resume = true
			}
			o.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
			mustRun(t, o, points)
			files = append(files, o.File)
		}
		if err := os.RemoveAll(name("merged")); err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(t.Context(), name("merged"), MergeOptions{}, rapid.Permutation(files).Draw(t, "order")...); err != nil {
			t.Fatal(err)
		}
		if got, want := readText(t, name("merged")), readText(t, name("whole")); got != want {
			t.Fatalf("merged:\n%s\nwhole:\n%s", got, want)
		}
	})
}

// anyGrid returns the points of a random grid.
func anyGrid(t *rapid.T) []Point {
	var dims []Dimension
	for i := range rapid.IntRange(0, 3).Draw(t, "dimensions") {
		d := Dimension{Name: fmt.Sprintf("d%d", i)}
		for v := range rapid.IntRange(1, 4).Draw(t, "values") {
			d.Values = append(d.Values, strings.Repeat("x\n\"é", v))
		}
		dims = append(dims, d)
	}
	return grid(dims...)
}

// interrupt runs a random part of a sweep and truncates the file at a random byte, as if
// the process had been killed.
func interrupt(t *rapid.T, o Options, points []Point) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Workers = rapid.IntRange(1, 4).Draw(t, "workers")
	most := rapid.IntRange(0, len(points)).Draw(t, "points before the kill")
	o.Progress = func(done, _ int, _ time.Duration) {
		if done >= most {
			cancel()
		}
	}
	if _, err := Run(ctx, o, points, nameRow, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	size := len(readText(t, o.File))
	if err := os.Truncate(o.File, int64(rapid.IntRange(0, size).Draw(t, "size"))); err != nil {
		t.Fatal(err)
	}
}

// mustRun completes an interrupted sweep. It checks that only those points run that have no
// complete line in the file.
func mustRun(t *rapid.T, o Options, points []Point) {
	lines := 0
	if o.Resume {
		lines = max(strings.Count(readText(t, o.File), "\n")-1, 0)
	}
	var ran atomic.Int64
	rows, err := Run(t.Context(), o, points, func(ctx context.Context, _ int, p Point) (row, error) {
		ran.Add(1)
		return nameRow(ctx, 0, p)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if int(ran.Load())+lines != len(rows) {
		t.Fatalf("%d points were in the file and %d were run, want %d in all", lines, ran.Load(), len(rows))
	}
}

func readText(t *rapid.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
