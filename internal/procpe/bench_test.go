package procpe

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// onOne runs a kernel on one rank that has x, of n floats, in a window.
func onOne(b *testing.B, n int, kernel func(t *tl.PE, x tl.Ptr)) {
	b.Helper()
	errs := onRanks(b, 1, Options{}, func(c *comm.Comm, r *Rank) error {
		w, err := c.AllocWindow(int64(4*n), 0)
		if err != nil {
			return err
		}
		return r.Launch("bench", kernel, Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{n}, Window: w})
	})
	if errs[0] != nil {
		b.Fatal(errs[0])
	}
}

// BenchmarkAdd is a load, an addition and a store: three operations.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{16, 1024, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(4 * n))
			s := tl.Shape{n}
			onOne(b, n, func(t *tl.PE, x tl.Ptr) {
				for b.Loop() {
					t.Store(x, t.Load(x, s, tl.F32).Add(1))
				}
			})
		})
	}
}

// BenchmarkPut is a put in one piece, and one of a column.
func BenchmarkPut(b *testing.B) {
	const n = 4096
	for _, c := range []struct {
		name string
		to   func(x tl.Ptr) tl.Ptr
	}{{"contiguous", func(x tl.Ptr) tl.Ptr { return x }}, {"column", func(x tl.Ptr) tl.Ptr { return x.Strided(64) }}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * n)
			onOne(b, 64*n, func(t *tl.PE, x tl.Ptr) {
				tile := t.Zeros(tl.Shape{n}, tl.F32)
				for b.Loop() {
					t.Put(0, c.to(x), tile)
				}
			})
		})
	}
}

// BenchmarkPingPong is a put and a notification there and one back, between two
// goroutines.
func BenchmarkPingPong(b *testing.B) {
	errs := onRanks(b, 2, Options{}, func(c *comm.Comm, r *Rank) error {
		w, err := c.AllocWindow(64, 0)
		if err != nil {
			return err
		}
		return r.Launch("pingpong", func(t *tl.PE, x tl.Ptr, n int) {
			me := t.Rank()
			tile := t.Zeros(tl.Shape{16}, tl.F32)
			for i := 1; i <= n; i++ {
				if me == 0 {
					t.Put(1, x, tile)
					t.Notify(1, 0, tl.Set, i)
				}
				t.WaitSignal(0, tl.EQ, i)
				if me == 1 {
					t.Put(0, x, tile)
					t.Notify(0, 0, tl.Set, i)
				}
			}
		}, Tensor{Name: "x", DType: tl.F32, Shape: tl.Shape{16}, Window: w}, b.N)
	})
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLaunch is a launch of an empty kernel.
func BenchmarkLaunch(b *testing.B) {
	for _, ranks := range []int{1, 2} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			b.ReportAllocs()
			errs := onRanks(b, ranks, Options{}, func(_ *comm.Comm, r *Rank) error {
				for range b.N {
					if err := r.Launch("empty", func(*tl.PE) {}); err != nil {
						return err
					}
				}
				return nil
			})
			if errs[0] != nil {
				b.Fatal(errs[0])
			}
		})
	}
}
