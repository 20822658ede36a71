package scenario

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// names is a scope for tests: n is 7, half is 0.5, zero is 0, mode is a word.
var names = scope{names: []string{"n", "half", "zero", "mode"}, params: map[string]Param{"mode": {Words: []string{"plain"}}}}

var values = []number{{n: 7}, {fraction: true, f: 0.5}, {}, {}}

// compute evaluates the expression in text. It returns the value as text, the offset of the
// error in the expression, and the error.
func compute(text string) (string, int, error) {
	x, err := parseExpr("p", text, names)
	var v number
	if err == nil {
		v, err = x.root.eval(values)
	}
	var e *exprError
	if errors.As(err, &e) {
		return "", e.at, e.err
	}
	return v.String(), 0, err
}

func TestExpr(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"42", "42"},
		{"1_000", "1000"},
		{"2.5", "2.5"},
		{"1e3", "1000"},
		{"n", "7"},
		{"-n", "-7"},
		{"+n", "7"},
		{"- -n", "7"},
		{"1 + 2*3", "7"},
		{"(1 + 2)*3", "9"},
		{"10 - 3 - 2", "5"},
		{"n/2", "3.5"},
		{"14/n", "2"},
		{"-7/2", "-3.5"},
		{"n*half", "3.5"},
		{"2*n*(n-1)/2", "42"},
		{"n%4", "3"},
		{"-n%4", "1"},
		{"n%-4", "-1"},
		{"-9223372036854775807 % -1", "0"},
		{"min(3, n, 5)", "3"},
		{"max(3, half)", "3"},
		{"min(half)", "0.5"},
		{"cdiv(n, 2)", "4"},
		{"cdiv(-n, 2)", "-3"},
		{"cdiv(8, 2)", "4"},
		{"cdiv(n, -2)", "-3"},
		{"floor(n/2)", "3"},
		{"floor(-n/2)", "-4"},
		{"floor(n)", "7"},
		{"floor(1e18)", "1000000000000000000"},
		{"9223372036854775806 + 1", "9223372036854775807"},
		{"-9223372036854775807 - 1", "-9223372036854775808"},
	} {
		if got, _, err := compute(tt.text); err != nil || got != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestExprMistakes(t *testing.T) {
	for _, tt := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "not an expression: " + howTo},
		{"1 +", 3, "not an expression: " + howTo},
		{"1 2", 2, "not an expression: " + howTo},
		{"n + $", 4, "not an expression: " + howTo},
		{"n + m", 4, `unknown name "m"; known here: n, half, zero, mode`},
		{"n + hal", 4, `unknown name "hal"; known here: n, half, zero, mode; did you mean half?`},
		{"mode + 1", 0, "mode is a word, not a number: use it as $mode in the name of the kernel"},
		{"n << 2", 2, "no operation <<: " + howTo},
		{"!n", 0, "no operation !: " + howTo},
		{"n[0]", 0, "not part of an expression: " + howTo},
		{"func() {}", 0, "not part of an expression: " + howTo},
		{`"n"`, 0, `"n" is no number: ` + howTo},
		{"2i", 0, "2i is no number: " + howTo},
		{"1 + sqrt(n)", 4, `no function "sqrt": use min, max, cdiv or floor`},
		{"a.b(n)", 0, "not a function: use min, max, cdiv or floor"},
		{"cdiv(n)", 0, "cdiv has 1 arguments: give it 2"},
		{"floor(n, n)", 0, "floor has 2 arguments: give it 1"},
		{"max()", 0, "max has 0 arguments: give it one or more"},
		{"1 + n/zero", 5, "division by zero"},
		{"n%zero", 1, "division by zero"},
		{"cdiv(n, zero)", 0, "division by zero"},
		{"n % half", 2, "7 % 0.5: it needs whole numbers: use floor"},
		{"cdiv(n, half)", 0, "cdiv(7, 0.5): it needs whole numbers: use floor"},
		{"9223372036854775807 + n", 20, "overflow: 9223372036854775807 + 7 is more than 64 bits hold"},
		{"-9223372036854775807 - n", 21, "overflow: -9223372036854775807 - 7 is more than 64 bits hold"},
		{"9223372036854775807*n", 19, "overflow: 9223372036854775807 * 7 is more than 64 bits hold"},
		{"1e300*1e300", 5, "overflow: 1e+300 * 1e+300 is more than 64 bits hold"},
		{"floor(1e19)", 0, "overflow: floor(1e+19) is more than 64 bits hold"},
		{"9223372036854775808", 0, "overflow: 9223372036854775808 is more than 64 bits hold"},
		{strings.Repeat("n+", 500) + "n", 0, "an expression of 1001 characters: use a registered function, func:NAME"},
	} {
		got, at, err := compute(tt.text)
		if err == nil || err.Error() != tt.want || at != tt.at {
			t.Errorf("%.60q: got %s, %v at %d, want %s at %d", tt.text, got, err, at, tt.want, tt.at)
		}
	}
}

// TestArithmetic checks that + - * / % of random whole numbers give the same results as
// math/big, or an error on overflow. A division with a remainder must give the float64
// quotient.
func TestArithmetic(t *testing.T) {
	whole := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-20, 20), rapid.SampledFrom([]int64{-1 << 63, 1<<63 - 1, -1, 0, 1}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := whole.Draw(t, "a"), whole.Draw(t, "b")
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%"}).Draw(t, "op")
		got, err := arithmetic(op, number{n: a}, number{n: b})
		x, y, want := big.NewInt(a), big.NewInt(b), new(big.Int)
		exact := true
		switch op {
		case "+":
			want.Add(x, y)
		case "-":
			want.Sub(x, y)
		case "*":
			want.Mul(x, y)
		case "/", "%":
			if b == 0 {
				if !errors.Is(err, errDivision) {
					t.Fatalf("%d %s 0: got %v, %v", a, op, got, err)
				}
				return
			}
			rest := new(big.Int)
			want.QuoRem(x, y, rest)
			exact = rest.Sign() == 0
			if op == "%" {
				if want.Set(rest); rest.Sign() != 0 && rest.Sign() != y.Sign() {
					want.Add(rest, y)
				}
				exact = true
			}
		}
		switch {
		case exact && want.IsInt64():
			if err != nil || got.fraction || got.n != want.Int64() {
				t.Fatalf("%d %s %d: got %v, %v, want %v", a, op, b, got, err, want)
			}
		case op == "/":
			if quotient := float64(a) / float64(b); err != nil || !got.fraction || got.f != quotient {
				t.Fatalf("%d / %d: got %v, %v, want %v", a, b, got, err, quotient)
			}
		case err == nil:
			t.Fatalf("%d %s %d: got %v, want an overflow", a, op, b, got)
		}
	})
}

// FuzzExpr checks that every text leads either to a number or to an error whose offset is
// inside the text.
func FuzzExpr(f *testing.F) {
	for _, text := range []string{"n/2", "min(1, cdiv(n, 3))", "((", "-9223372036854775808", "1e309", "n%-1", "\x00", "n //", "func(){}()", "_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseExpr("p", text, names)
		if err == nil {
			_, err = x.root.eval(values)
		}
		var e *exprError
		if err != nil && (!errors.As(err, &e) || e.at < 0 || e.at > len(text)) {
			t.Errorf("%q: %v has no place", text, err)
		}
	})
}

func BenchmarkExpr(b *testing.B) {
	x, err := parseExpr("p", "n*zero + 100*n*(n-1)/2 + 10*half*n", names)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.root.eval(values); err != nil {
			b.Fatal(err)
		}
	}
}
