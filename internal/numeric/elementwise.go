package numeric

import "math"

// The loops of this file put their results in x. One text serves every number; where
// floats and integers differ the dtype tells them apart.

func combine[T number](op Op, d DType, x, y []T) {
	y = y[:len(x)]
	switch op {
	case Add:
		for i := range x {
			x[i] += y[i]
		}
	case Sub:
		for i := range x {
			x[i] -= y[i]
		}
	case Mul:
		for i := range x {
			x[i] *= y[i]
		}
	case Div:
		divide(d, x, y)
	case Maximum:
		for i := range x {
			x[i] = max(x[i], y[i])
		}
	case Minimum:
		for i := range x {
			x[i] = min(x[i], y[i])
		}
	}
}

func divide[T number](d DType, x, y []T) {
	for i := range x {
		if y[i] == 0 && !d.IsFloat() {
			x[i] = 0
			continue
		}
		x[i] /= y[i]
	}
}

func compare[T number](op Op, dst []byte, x, y []T) {
	for i := range dst {
		var holds bool
		switch op {
		case Lt:
			holds = x[i] < y[i]
		case Le:
			holds = x[i] <= y[i]
		case Gt:
			holds = x[i] > y[i]
		case Ge:
			holds = x[i] >= y[i]
		case Eq:
			holds = x[i] == y[i]
		case Ne:
			holds = x[i] != y[i]
		}
		dst[i] = 0
		if holds {
			dst[i] = 1
		}
	}
}

func unary[T number](op Op, d DType, x []T) {
	var f func(float64) float64
	switch op {
	case Neg:
		for i := range x {
			x[i] = -x[i]
		}
		return
	case Abs:
		for i, v := range x {
			if v <= 0 {
				x[i] = 0 - v // +0 from either zero
			}
		}
		return
	case Exp:
		f = exp
	case Log:
		f = log
	case Sqrt:
		f = math.Sqrt
	case Rsqrt:
		f = rsqrt
	case Sigmoid:
		f = sigmoid
	case Tanh:
		f = tanh
	}
	transform(d, f, x)
}

// transform makes x f(x), rounded for d.
func transform[T number](d DType, f func(float64) float64, x []T) {
	// In a loop of their own the conversions do not hold up the next call of f: the
	// processor can work at several.
	var wide [block]float64
	for ; len(x) > 0; x = x[min(block, len(x)):] {
		w := wide[:min(block, len(x))]
		for i := range w {
			w[i] = float64(x[i])
		}
		for i, v := range w {
			w[i] = f(v)
		}
		for i, v := range w {
			x[i] = T(roundFor(d, v))
		}
	}
}

func multiplyAdd[T number](d DType, x, y, z []T) {
	if d.IsFloat() {
		for i := range x {
			x[i] = T(fma(d, float64(x[i]), float64(y[i]), float64(z[i])))
		}
		return
	}
	for i := range x {
		x[i] = T(x[i]*y[i]) + z[i]
	}
}

// applyWhere moves elements of a size as they are, NaNs too.
func applyWhere(size int, dst, cond, a, b []byte) {
	for i, c := range cond {
		from := b
		if c != 0 {
			from = a
		}
		at := i * size
		switch size { // a constant size is a move, not a call
		case 1:
			dst[at] = from[at]
		case 2:
			*(*[2]byte)(dst[at:]) = [2]byte(from[at:])
		case 4:
			*(*[4]byte)(dst[at:]) = [4]byte(from[at:])
		case 8:
			*(*[8]byte)(dst[at:]) = [8]byte(from[at:])
		}
	}
}
