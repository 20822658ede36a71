//go:build !amd64

package numeric

// There is no assembly for this machine: Go does everything.
var vector = false

func applyVector(Op, DType, []byte, [][]byte) int { return 0 }

func castVector(DType, []byte, DType, []byte) int { return 0 }

func widenVector(DType, []float32, []byte) int { return 0 }

func narrowVector(DType, []byte, []float32) int { return 0 }

func dotVector([]byte, int, []float32, []float32, int, int) bool { return false }
