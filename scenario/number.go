package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// number is a value of an expression: an int64, or a float64 if the value was computed from
// a float literal or by a division with a remainder.
type number struct {
	fraction bool // the value is f, otherwise n
	n        int64
	f        float64 // finite
}

func wholeNumber(n int) number { return number{n: int64(n)} }

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

// value returns the number in the type that kernels receive: an int, or a float64 if it is
// a fraction.
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

// arithmetic computes x op y, where op is one of + - * / %. It returns an error for a
// division by 0, for % of fractions and on overflow.
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

// wholeArithmetic computes a op b. It reports whether the exact result is a whole number
// that fits into 64 bits.
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

// less reports whether x is smaller than y.
func less(x, y number) bool {
	if x.fraction || y.fraction {
		return x.float() < y.float()
	}
	return x.n < y.n
}

// cdiv divides x by y and rounds the quotient up. Both must be whole numbers.
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

// floor rounds x down to a whole number. It returns an error if the result does not fit
// into 64 bits.
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

// Param is a parameter of a scenario: a number, or a list of words from which a run chooses
// one. In a plan it holds the chosen value.
type Param struct {
	Words []string // the first is the default; nil for a number

	number number // the default, or in a plan the value
}

// parseParam parses the value of a parameter in a file: a number such as 256 or 0.5, or
// words such as ring|tree.
func parseParam(text string) (p Param, err error) {
	if p.number, err = parseNumber(text); err == nil {
		return p, nil
	}
	p.Words = strings.Split(text, "|")
	for i, w := range p.Words {
		w = strings.TrimSpace(w)
		if !isName(w) {
			return p, fmt.Errorf("%.60q is neither a number nor words: write 256, or ring|tree with the default first", text)
		}
		if slices.Contains(p.Words[:i], w) {
			return p, fmt.Errorf("the word %s is there twice: delete one", w)
		}
		p.Words[i] = w
	}
	return p, nil
}

func parseNumber(text string) (x number, err error) {
	if x.n, err = strconv.ParseInt(text, 10, 64); err == nil {
		return x, nil
	}
	if strings.Trim(text, "+-.0123456789eE") != "" { // Inf, NaN, 0x1p-2, 1_000
		return x, errors.New("no number")
	}
	x.fraction = true
	x.f, err = strconv.ParseFloat(text, 64)
	return x, err
}

// String formats the parameter as a file writes it.
func (p Param) String() string {
	if p.Words == nil {
		return p.number.String()
	}
	return strings.Join(p.Words, "|")
}

// choose returns a copy of the parameter with the value that `text` denotes, or with the
// default value if `text` is "". An error says which values are allowed.
func (p Param) choose(text string) (Param, error) {
	x, err := parseNumber(text)
	switch {
	case text == "":
		return Param{p.Words[:min(1, len(p.Words))], p.number}, nil
	case slices.Contains(p.Words, text):
		return Param{Words: []string{text}}, nil
	case p.Words != nil:
		return Param{}, fmt.Errorf("write one of %s%s", strings.Join(p.Words, ", "), config.DidYouMean(text, p.Words))
	case err != nil:
		return Param{}, fmt.Errorf("write a number such as %v", p.number)
	case x.fraction && !p.number.fraction:
		return Param{}, fmt.Errorf("write a whole number such as %v", p.number)
	}
	return Param{number: x}, nil
}
