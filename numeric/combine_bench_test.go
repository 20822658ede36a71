package numeric

import (
	"fmt"
	"testing"
)

// Bytes of an operand: three of them stay in the second cache, or in none.
const (
	cached = 64 << 10
	large  = 64 << 20
)

// BenchmarkCombine is the bytes of one operand in a time.
func BenchmarkCombine(b *testing.B) {
	for _, size := range []int{cached, large} {
		dst, also := make([]byte, size), make([]byte, size)
		for _, d := range []DType{F32, F16, BF16, F64, I32} {
			x, y := repeated(1, d, size), repeated(2, d, size)
			for _, op := range []Op{Add, Maximum} {
				for _, c := range []struct {
					name string
					f    func()
				}{
					{"plain", func() { Combine(op, d, x, y, dst) }},
					{"in place", func() { Combine(op, d, dst, y, dst) }},
					{"twice", func() { Combine(op, d, x, y, dst, also) }},
					{"streaming", func() { CombineStreaming(op, d, x, y, dst) }},
					{"streaming twice", func() { CombineStreaming(op, d, x, y, dst, also) }},
				} {
					b.Run(fmt.Sprintf("%dKiB/%v/%v/%s", size>>10, d, op, c.name), func(b *testing.B) { timeBytes(b, size, c.f) })
				}
			}
		}
	}
}

func BenchmarkCopyStreaming(b *testing.B) {
	for _, size := range []int{cached, large} {
		src, dst := repeated(1, U8, size), make([]byte, size)
		b.Run(fmt.Sprintf("%dKiB/copy", size>>10), func(b *testing.B) { timeBytes(b, size, func() { copy(dst, src) }) })
		b.Run(fmt.Sprintf("%dKiB/streaming", size>>10), func(b *testing.B) { timeBytes(b, size, func() { CopyStreaming(dst, src) }) })
	}
}

func timeBytes(b *testing.B, size int, f func()) {
	f() // has the memory there
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(size)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
}

// repeated is some random elements over and over: drawing so many takes long.
func repeated(seed uint64, d DType, size int) []byte {
	buf := make([]byte, size)
	for n := copy(buf, random(seed, d, cached/d.Size())); n < size; n *= 2 {
		copy(buf[n:], buf[:n])
	}
	return buf
}
