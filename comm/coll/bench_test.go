package coll_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// BenchmarkAllReduce measures an all_reduce of f32 elements between two ranks, with private
// buffers and with buffers in a window.
func BenchmarkAllReduce(b *testing.B) {
	for _, resident := range []bool{false, true} {
		for _, bytes := range []int{4 << 10, 64 << 10, 1 << 20, 16 << 20} {
			memory := map[bool]string{false: "private", true: "window"}[resident]
			b.Run(fmt.Sprintf("%s/%dKiB", memory, bytes>>10), func(b *testing.B) {
				b.SetBytes(int64(bytes))
				commtest.Succeed(b, runGroup("inproc", 2, coll.Options{}, func(g *coll.Group) error {
					x, y := make([]float32, bytes/4), make([]float32, bytes/4)
					if resident {
						w, err := g.Comm().AllocWindow(int64(2*bytes), 0)
						if err != nil {
							return err
						}
						if x, err = coll.Slice[float32](w, 0, bytes/4); err != nil {
							return err
						}
						if y, err = coll.Slice[float32](w, int64(bytes), bytes/4); err != nil {
							return err
						}
					}
					if err := coll.AllReduce(g, y, x, coll.Sum); err != nil { // touches all memory
						return err
					}
					if err := g.Barrier(); err != nil {
						return err
					}
					if g.Comm().Rank() == 0 {
						b.ResetTimer()
					}
					for range b.N {
						if err := coll.AllReduce(g, y, x, coll.Sum); err != nil {
							return err
						}
					}
					return nil
				}))
			})
		}
	}
}
