// Package numeric is the arithmetic of tile values: dtypes, elementwise operations,
// reductions, softmax, matrix products and conversions. Results are exact to the bit and
// the same on every machine.
//
// A value is a []byte: contiguous elements of one [DType], row-major, little-endian, at
// any alignment. The package has no shapes: callers pass element counts and make sure that
// they fit. Mistakes of the caller, as opposed to unusual data, panic: lengths that do not
// match, or an operation for which [Supports] returns false.
//
// # Rounding
//
// Rounding is to nearest, ties to even, with subnormals, once per operation and element.
//
//   - f16 and bf16 are widened to f32, computed in f32 and rounded to the dtype. For + - ×
//     ÷ and square roots this is the correctly rounded result.
//   - [FMA] rounds a·b+c once, in every float dtype. No other operation fuses.
//   - [Exp], [Log], [Rsqrt], [Sigmoid] and [Tanh] are computed in float64 by the code of
//     this package, to less than one unit in the last place, and rounded once to the
//     dtype. The functions of package math are assembly on only some machines, so their
//     results are not the same on all machines.
//   - [Maximum], [Minimum], [Max], [Min] and [Clamp] propagate NaN and order -0 before +0.
//     Clamp(x, lo, hi) is Minimum(Maximum(x, lo), hi).
//   - Comparisons with NaN are false, except [Ne]; -0 equals +0.
//   - An operation whose result is NaN writes the quiet NaN without sign and payload (f16
//     0x7e00, bf16 0x7fc0, ...). [Where] copies bits unchanged, and so does [Cast] to the
//     same dtype.
//
// Integers wrap around, in [Sum] and [FMA] too. Division truncates. Division by zero gives
// 0. The least integer divided by -1 is the least integer, and so is its [Abs]. [BitAnd],
// [BitOr] and [BitXor] are only for integers.
//
// # Order of summation
//
//   - [Reduce] with [Sum] starts from the first element and adds the others in ascending
//     order. f16 and bf16 are summed in f32 and rounded to the dtype at the end.
//   - [Dot] adds the products to each element of the accumulator in ascending k, one at a
//     time. Each product is rounded to the type of the accumulator before it is added. A
//     loop over tiles of K therefore gives the same bits as one call.
//   - [Softmax] subtracts the maximum of a row, takes exponentials (in float64, rounded to
//     f32), sums them in ascending order and divides in f32. The quotient is rounded to
//     the dtype. For f64 everything is computed in f64.
//
// # Speed
//
// On amd64 with AVX2 and F16C, assembly does the common operations on floats, sums of
// integers of 32 and 64 bits, and maxima and minima of i32. Its results are the same as
// those of the Go code, which does everything else. [Apply] and [Combine] both use it. For
// operands in the caches, a sum is as fast as the second-level cache delivers data; a sum
// of f16 is nearly as fast.
//
// [CombineStreaming] and [CopyStreaming] store directly to memory, past the caches. This
// avoids reading the memory that is overwritten. It is up to twice as fast for results
// that are larger than the caches, and slower for results that fit into the caches or
// overwrite an operand.
//
// All functions may be called concurrently.
//
// The package imports internal/printable and the standard library.
package numeric
