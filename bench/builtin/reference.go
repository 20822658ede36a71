package builtin

// values is n numbers between -1 and 1 that f16 holds exactly, with all of its 11
// bits in use. Another step gives other numbers.
func values(n, step int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(valueAt(i, step))
	}
	return x
}

// valueAt returns number i of those of values.
func valueAt(i, step int) float64 { return float64(i*step%2039-1019) / 1024 }

// matmul is the product of a, m × k, and b, k × n, as Dot adds it up: in f32, in
// ascending k, each product rounded before it is added.
func matmul(a, b []float32, m, k, n int) []float32 {
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			var sum float32
			for l := range k {
				sum += float32(a[i*k+l] * b[l*n+j])
			}
			c[i*n+j] = sum
		}
	}
	return c
}
