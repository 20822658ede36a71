package experiment

import (
	"path/filepath"
	"strconv"
	"testing"
)

func lineOf(n int) []Point {
	d := Dimension{Name: "n"}
	for i := range n {
		d.Values = append(d.Values, strconv.Itoa(i))
	}
	return grid(d)
}

// BenchmarkPoints is what a point costs beside its run: without a file, and in one.
func BenchmarkPoints(b *testing.B) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(b.TempDir(), "r.jsonl")} {
		b.Run(name, func(b *testing.B) {
			if _, err := Run(b.Context(), Options{File: file, Replace: true}, lineOf(b.N), named, nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkResume is what a point costs that is taken over.
func BenchmarkResume(b *testing.B) {
	o, points := Options{File: filepath.Join(b.TempDir(), "r.jsonl")}, lineOf(b.N)
	if _, err := Run(b.Context(), o, points, named, nil); err != nil {
		b.Fatal(err)
	}
	o.Resume = true
	b.ResetTimer()
	if _, err := Run(b.Context(), o, points, named, nil); err != nil {
		b.Fatal(err)
	}
}
