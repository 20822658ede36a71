package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// number is a value of an expression: whole as long as it can be.
type number struct {
	fraction bool    // it is f
	n        int64   // else
	f        float64 // finite
}

func whole(n int) number { return number{n: int64(n)} }

func (x number) float() float64 {
	if x.fraction {
		return x.f
	}
	return float64(x.n)
}

func (x number) String() string {
	if x.fraction {
		return strconv.FormatFloat(x.f, 'g', -1, 64)
	}
	return strconv.FormatInt(x.n, 10)
}

// value is the number as kernels get it.
func (x number) value() any {
	if x.fraction {
		return x.f
	}
	return int(x.n)
}

var (
	errDivision = errors.New("division by zero")
	errWhole    = errors.New("it needs whole numbers: use floor")
)

// arithmetic is x op y, where op is one of + - * / %.
func arithmetic(op string, x, y number) (number, error) {
	fractions := x.fraction || y.fraction
	if (op == "/" || op == "%") && y.float() == 0 {
		return number{}, errDivision
	}
	if op == "%" && fractions {
		return number{}, fmt.Errorf("%v %s %v: %w", x, op, y, errWhole)
	}
	if !fractions {
		if z, exact := wholeArithmetic(op, x.n, y.n); exact {
			return number{n: z}, nil
		}
	}
	a, b := x.float(), y.float()
	switch op {
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	case "/":
		a /= b
	}
	if math.IsInf(a, 0) || !fractions && op != "/" {
		return number{}, fmt.Errorf("overflow: %v %s %v is more than 64 bits hold", x, op, y)
	}
	return number{fraction: true, f: a}, nil
}

// wholeArithmetic is a op b, and whether that is a whole number of 64 bits.
func wholeArithmetic(op string, a, b int64) (z int64, exact bool) {
	switch op {
	case "+":
		z = a + b
		return z, (z > a) == (b > 0)
	case "-":
		z = a - b
		return z, (z < a) == (b > 0)
	case "*":
		if a == 0 || b == 0 {
			return 0, true
		}
		z = a * b
		return z, z/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	case "%":
		if z = a % b; z != 0 && (z < 0) != (b < 0) {
			z += b
		}
		return z, true
	}
	return a / b, a%b == 0 && (b != -1 || a != math.MinInt64)
}

func less(x, y number) bool {
	if x.fraction || y.fraction {
		return x.float() < y.float()
	}
	return x.n < y.n
}

// cdiv is x divided by y, rounded up.
func cdiv(x, y number) (number, error) {
	switch {
	case x.fraction || y.fraction:
		return number{}, fmt.Errorf("cdiv(%v, %v): %w", x, y, errWhole)
	case y.n == 0:
		return number{}, errDivision
	case x.n == math.MinInt64 && y.n == -1:
		return number{}, fmt.Errorf("overflow: cdiv(%v, %v) is more than 64 bits hold", x, y)
	}
	q := x.n / y.n
	if x.n%y.n != 0 && (x.n < 0) == (y.n < 0) {
		q++
	}
	return number{n: q}, nil
}

func floor(x number) (number, error) {
	if !x.fraction {
		return x, nil
	}
	f := math.Floor(x.f)
	if f < -1<<63 || f >= 1<<63 {
		return number{}, fmt.Errorf("overflow: floor(%v) is more than 64 bits hold", x)
	}
	return number{n: int64(f)}, nil
}
