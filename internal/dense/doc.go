// Package dense computes references for the results of simulated machines: dense
// matrices in float64, and beside every element the variance of the error with which a
// machine that rounds to f16, bf16 or f32 would have computed it. A result is compared
// with its reference element by element, each with a tolerance of its own.
//
// # Errors
//
// An operation computes its value in float64. The variance of its result has two parts:
// the errors of the operands, each times the square of the derivative, and the roundings
// that the machine does on the way. A rounding of z to a dtype with unit roundoff u is
// taken as uniform in ±u|z|, which has variance u²z²/3; below the least normal number z
// the spacing no longer shrinks, and neither does the error. Since the spacing is constant
// between two powers of two, this is too much by a factor of 1 to 4, about 2 on average:
// a well-behaved result has a root mean square of error over standard deviation of 0.7.
//
// Every operation takes the dtype that each of its steps rounds to. A machine that
// computes in f32 and stores f16 is an operation in f32 and then [Matrix.Round] to f16;
// one that keeps every intermediate tile in f16 is the operation in f16. Sums, and those
// of matrix products, are accumulated in f32 whatever the dtype, and only then rounded.
//
// All errors count as independent. Those of roundings practically are: each depends on
// low bits that have little to do with one another. Where errors do share a source (a
// row divided by one rounded norm, a residual added to what was computed from it) the
// shared error appears in the result with about the size of one more rounding of it.
//
// # Tolerances
//
// The tolerance of an element is [Sigmas] = 8 standard deviations. Sums of many roundings
// are close to normal, and 8 standard deviations of a normal distribution are exceeded
// once in 10^15; a single rounding never exceeds √3. The rest of the 8 is room for what
// the model leaves out: correlations, another order of summation, a few more roundings
// than were counted. On the other side, in a sum of k terms of size t and random sign the
// tolerance is 8·u·√k·t/√3: a missing or doubled term t is found if k < (0.2/u)², that is
// among 190,000 terms in f16 and 3,000 in bf16. If all terms have the same sign it is
// found among 440 and 55. Sums in several parts round more often, and hide somewhat more.
//
// A rigorous bound would be of no use. It assumes that all errors are as large as they can
// be and point the same way, so it grows with k where errors grow with √k, and by the same
// factor again in every layer: after two or three it is more than the values themselves,
// and any result passes.
//
// The model has limits. Errors must be small against the distances over which functions
// bend, which those of bf16 logits in the hundreds are not. And operands must not be
// constant: sums of a thousand equal terms round the same way again and again, by more than 8
// standard deviations in f32, where nothing larger covers it. Use random operands there.
//
// What the machine computes, and comparing with it, live elsewhere. The package imports
// numeric for dtypes and conversions, and the standard library. Operands whose
// shapes do not fit panic. All functions leave their operands alone, and may be called
// concurrently.
package dense
