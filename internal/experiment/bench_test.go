package experiment

import (
	"path/filepath"
	"strconv"
	"testing"
)

// linePoints returns the given number of points. Point i has one setting, which is named n
// and has the value i.
func linePoints(n int) []Point {
	d := Dimension{Name: "n"}
	for i := range n {
		d.Values = append(d.Values, strconv.Itoa(i))
	}
	return grid(d)
}

// BenchmarkPoints measures the time that a sweep adds per point, without a file and with a
// file.
func BenchmarkPoints(b *testing.B) {
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(b.TempDir(), "r.jsonl")} {
		b.Run(name, func(b *testing.B) {
			if _, err := Run(b.Context(), Options{File: file, Replace: true}, linePoints(b.N), nameRow, nil); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkResume measures how long a resumed sweep takes to read a point from its file.
func BenchmarkResume(b *testing.B) {
	o, points := Options{File: filepath.Join(b.TempDir(), "r.jsonl")}, linePoints(b.N)
	if _, err := Run(b.Context(), o, points, nameRow, nil); err != nil {
		b.Fatal(err)
	}
	o.Resume = true
	b.ResetTimer()
	if _, err := Run(b.Context(), o, points, nameRow, nil); err != nil {
		b.Fatal(err)
	}
}
