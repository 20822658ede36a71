package builtin

// values returns n numbers between -1 and 1. f16 represents them exactly, and they use all
// of its 11 significant bits. Different values of step give different numbers.
func values(n, step int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(valueAt(i, step))
	}
	return x
}

// valueAt returns element i of the result of values.
func valueAt(i, step int) float64 { return float64(i*step%2039-1019) / 1024 }

// matmul returns the product of a (m × k) and b (k × n). It sums in the same way as Dot of
// the tile language: in f32, in ascending k, with each product rounded before it is added.
func matmul(a, b []float32, m, k, n int) []float32 {
	c := make([]float32, m*n)
	for from := 0; from < k; from += blockRows { // blocks of rows of b that fit into the cache
		to := min(k, from+blockRows)
		i := 0
		for ; i+1 < m; i += 2 {
			addTwoRows(c[i*n:(i+2)*n], a[i*k+from:i*k+to], a[(i+1)*k+from:(i+1)*k+to], b[from*n:to*n])
		}
		if i < m {
			addProducts(c[i*n:][:n], a[i*k+from:i*k+to], b[from*n:to*n])
		}
	}
	return c
}

const blockRows = 64

// addTwoRows does the same as addProducts for two rows of the result, so that each element
// of b is loaded once for both.
func addTwoRows(rows, x, y, b []float32) {
	n := len(rows) / 2
	r, s := rows[:n], rows[n:][:n]
	for ; len(x) >= 4 && len(y) >= 4; x, y, b = x[4:], y[4:], b[4*n:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
		for j := range n {
			v0, v1, v2, v3 := b0[j], b1[j], b2[j], b3[j]
			r[j] = r[j] + float32(x0*v0) + float32(x1*v1) + float32(x2*v2) + float32(x3*v3)
			s[j] = s[j] + float32(y0*v0) + float32(y1*v1) + float32(y2*v2) + float32(y3*v3)
		}
	}
	addProducts(r, x, b)
	addProducts(s, y, b)
}

// addProducts multiplies each row of b by the corresponding element of x, and adds the
// products to row, a row of the result. It processes four rows of b at a time.
func addProducts(row, x, b []float32) {
	n := len(row)
	for ; len(x) >= 4; x, b = x[4:], b[4*n:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
		for j, sum := range row {
			sum += float32(x0 * b0[j])
			sum += float32(x1 * b1[j])
			sum += float32(x2 * b2[j])
			sum += float32(x3 * b3[j])
			row[j] = sum
		}
	}
	for l, v := range x {
		for j, w := range b[l*n:][:n] {
			row[j] += float32(v * w)
		}
	}
}
