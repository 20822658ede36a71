// Package numeric is the arithmetic of tile values: dtypes, elementwise
// operations, reductions, softmax, matrix products and conversions, exact to the
// bit and the same on every machine.
//
// A value is a []byte: contiguous elements of one [DType], row-major,
// little-endian, at any alignment. Shapes, memory and time live elsewhere: callers
// pass element counts and make sure that they fit. What cannot be a mistake of
// the data but only of the caller (lengths that don't match, an operation that
// [Supports] denies) panics.
//
// # Rounding
//
// Rounding is to nearest, ties to even, with subnormals, once per operation and
// element.
//
//   - f16 and bf16 are widened to f32, computed in f32 and rounded to the dtype;
//     for + - × ÷ and square roots that is the correctly rounded result.
//   - [FMA] rounds a·b+c once, in every float dtype. Nothing else fuses.
//   - [Exp], [Log], [Rsqrt], [Sigmoid] and [Tanh] are computed in float64 by the
//     code of this package, to less than one unit in the last place, and rounded
//     once to the dtype. The functions of package math are assembly on some
//     machines and not on others, hence not the same everywhere.
//   - [Maximum], [Minimum], [Max], [Min] and [Clamp] propagate NaN and order -0
//     before +0. Clamp(x, lo, hi) is Minimum(Maximum(x, lo), hi).
//   - Comparisons with NaN are false, except [Ne]; -0 equals +0.
//   - An operation whose result is NaN writes the quiet NaN without sign and
//     payload (f16 0x7e00, bf16 0x7fc0, ...). [Where] moves bits unchanged, and so
//     does [Cast] to the same dtype.
//
// Integers wrap around, in [Sum] and [FMA] too. Division truncates; by zero it
// gives 0, and the least integer by -1 gives itself, as does its [Abs]. [BitAnd],
// [BitOr] and [BitXor] are of integers only.
//
// # Order of summation
//
//   - [Reduce] with [Sum] starts from the first element and adds the others in
//     ascending order, f16 and bf16 in f32, rounded to the dtype at the end.
//   - [Dot] adds to each element of the accumulator the products in ascending k,
//     one at a time, each rounded to the accumulator's type before it is added. A
//     loop over tiles of K therefore gives the same bits as one call.
//   - [Softmax] of a row subtracts its maximum, takes exponentials (in float64,
//     rounded to f32), sums them in ascending order and divides, in f32, rounding
//     the quotient to the dtype. For f64 all of it is f64.
//
// # Speed
//
// On amd64 with AVX2 and F16C assembly does the common operations of floats, sums of
// integers of 32 and 64 bits, and maxima and minima of i32, with the same results as
// the Go code that does all the rest. [Apply] and [Combine] share it. Within the
// caches a sum is as fast as the second cache delivers, for f16 nearly so.
//
// [CombineStreaming] and [CopyStreaming] store past the caches. That saves reading
// what is overwritten: worth up to a factor of two for results that are larger than
// the caches, and a loss for those that fit, or that go where an operand is.
//
// All functions may be called concurrently.
//
// The package imports the standard library only.
package numeric
