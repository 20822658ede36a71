package numeric

import (
	"fmt"
	"testing"
)

// Sizes of an operand in bytes: three operands fit into the second-level cache, or into no
// cache.
const (
	cachedBytes = 64 << 10
	largeBytes  = 64 << 20
)

// BenchmarkCombine measures Combine, as bytes of one operand per second.
func BenchmarkCombine(b *testing.B) {
	for _, size := range []int{cachedBytes, largeBytes} {
		dst, also := make([]byte, size), make([]byte, size)
		for _, d := range []DType{F32, F16, BF16, F64, I32} {
			x, y := repeatRandom(1, d, size), repeatRandom(2, d, size)
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
	for _, size := range []int{cachedBytes, largeBytes} {
		src, dst := repeatRandom(1, U8, size), make([]byte, size)
		b.Run(fmt.Sprintf("%dKiB/copy", size>>10), func(b *testing.B) { timeBytes(b, size, func() { copy(dst, src) }) })
		b.Run(fmt.Sprintf("%dKiB/streaming", size>>10), func(b *testing.B) { timeBytes(b, size, func() { CopyStreaming(dst, src) }) })
	}
}

func timeBytes(b *testing.B, size int, f func()) {
	f() // allocate the pages
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(size)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
}

// repeatRandom returns `size` bytes that repeat a few random elements, because drawing all
// elements at random would take long.
func repeatRandom(seed uint64, d DType, size int) []byte {
	buf := make([]byte, size)
	for n := copy(buf, random(seed, d, cachedBytes/d.Size())); n < size; n *= 2 {
		copy(buf[n:], buf[:n])
	}
	return buf
}
