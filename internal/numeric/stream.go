package numeric

// CopyStreaming is copy(dst, src) with stores that go past the caches, for what does
// not fit there or is read by another core. Whoever sees a later store sees these.
// dst and src must not overlap.
func CopyStreaming(dst, src []byte) {
	n := min(len(dst), len(src))
	stream(dst[:n], src[:n])
}
