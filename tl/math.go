package tl

import "github.com/kernbench/kernbench/internal/numeric"

// Add is x + y. Here and below, an operand of type any is a Tile or a Go number:
// shapes broadcast, dtypes must be equal, and a number takes the dtype of the tiles.
func (x Tile) Add(y any) Tile { return x.pe.binary(numeric.Add, x, y) }

// Sub is x - y. [PE.Sub] has the form for a number minus a tile.
func (x Tile) Sub(y any) Tile { return x.pe.binary(numeric.Sub, x, y) }

// Mul is x × y.
func (x Tile) Mul(y any) Tile { return x.pe.binary(numeric.Mul, x, y) }

// Div is x / y; integers truncate. [PE.Div] has the form for a number over a tile.
func (x Tile) Div(y any) Tile { return x.pe.binary(numeric.Div, x, y) }

// Maximum is the larger of x and y; NaN if either is.
func (x Tile) Maximum(y any) Tile { return x.pe.binary(numeric.Maximum, x, y) }

// Minimum is the smaller of x and y; NaN if either is.
func (x Tile) Minimum(y any) Tile { return x.pe.binary(numeric.Minimum, x, y) }

// And is the bits that x and y both have. Only integers have And, Or and Xor.
func (x Tile) And(y any) Tile { return x.pe.math(numeric.BitAnd, x, y) }

// Or is the bits that x or y has.
func (x Tile) Or(y any) Tile { return x.pe.math(numeric.BitOr, x, y) }

// Xor is the bits that one of x and y has and the other has not.
func (x Tile) Xor(y any) Tile { return x.pe.math(numeric.BitXor, x, y) }

// Lt is 1 where x < y, else 0, in u8: a condition for [PE.Where].
func (x Tile) Lt(y any) Tile { return x.pe.binary(numeric.Lt, x, y) }

// Le is 1 where x <= y, else 0, in u8.
func (x Tile) Le(y any) Tile { return x.pe.binary(numeric.Le, x, y) }

// Gt is 1 where x > y, else 0, in u8.
func (x Tile) Gt(y any) Tile { return x.pe.binary(numeric.Gt, x, y) }

// Ge is 1 where x >= y, else 0, in u8.
func (x Tile) Ge(y any) Tile { return x.pe.binary(numeric.Ge, x, y) }

// Eq is 1 where x = y, else 0, in u8.
func (x Tile) Eq(y any) Tile { return x.pe.binary(numeric.Eq, x, y) }

// Ne is 1 where x and y differ, else 0, in u8.
func (x Tile) Ne(y any) Tile { return x.pe.binary(numeric.Ne, x, y) }

// FMA is x × y + z, rounded once.
func (x Tile) FMA(y, z any) Tile { return x.pe.math(numeric.FMA, x, y, z) }

// Clamp is x, but at least lo and at most hi.
func (x Tile) Clamp(lo, hi any) Tile { return x.pe.math(numeric.Clamp, x, lo, hi) }

// Neg is -x.
func (x Tile) Neg() Tile { return x.pe.math(numeric.Neg, x) }

// Abs is the magnitude of x.
func (x Tile) Abs() Tile { return x.pe.math(numeric.Abs, x) }

// Exp is e to the power of x.
func (x Tile) Exp() Tile { return x.pe.math(numeric.Exp, x) }

// Log is the natural logarithm of x.
func (x Tile) Log() Tile { return x.pe.math(numeric.Log, x) }

// Sqrt is the square root of x.
func (x Tile) Sqrt() Tile { return x.pe.math(numeric.Sqrt, x) }

// Rsqrt is 1 / √x.
func (x Tile) Rsqrt() Tile { return x.pe.math(numeric.Rsqrt, x) }

// Sigmoid is 1 / (1 + e^-x).
func (x Tile) Sigmoid() Tile { return x.pe.math(numeric.Sigmoid, x) }

// Tanh is the hyperbolic tangent of x.
func (x Tile) Tanh() Tile { return x.pe.math(numeric.Tanh, x) }

// Sub is x - y, where x may be the number: t.Sub(1, y).
func (t *PE) Sub(x, y any) Tile { return t.math(numeric.Sub, x, y) }

// Div is x / y, where x may be the number: t.Div(1, y).
func (t *PE) Div(x, y any) Tile { return t.math(numeric.Div, x, y) }

// FMA is x × y + z, rounded once. At least one of them is a tile.
func (t *PE) FMA(x, y, z any) Tile { return t.math(numeric.FMA, x, y, z) }

// Clamp is x, but at least lo and at most hi. At least one of them is a tile.
func (t *PE) Clamp(x, lo, hi any) Tile { return t.math(numeric.Clamp, x, lo, hi) }

// Where is x where cond, in u8, is not 0, and y elsewhere. At least one of x and y
// is a tile.
func (t *PE) Where(cond Tile, x, y any) Tile { return t.math(numeric.Where, cond, x, y) }
