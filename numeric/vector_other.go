//go:build !amd64

package numeric

// vector is false, because there is no assembly for this machine: Go code does everything.
var vector = false

func combineVector(Op, DType, []byte, []byte, []byte, []byte, bool) bool { return false }

func stream(dst, src []byte) { copy(dst, src) }

func castVector(DType, []byte, DType, []byte) int { return 0 }

func dotVector([]byte, int, []float32, []float32, int, int) bool { return false }
