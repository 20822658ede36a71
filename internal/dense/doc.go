// Package dense computes reference results for simulated machines: dense matrices in
// float64. For every element it also computes the variance of the error of a machine that
// rounds to f16, bf16 or f32. A result is compared with its reference element by element,
// each with its own tolerance.
//
// # Errors
//
// An operation computes its value in float64. The variance of its result has two parts:
// the errors of the operands, each times the square of the derivative, and the roundings
// inside the operation. A rounding of z to a dtype with unit roundoff u is modelled as
// uniform in ±u|z|, which has variance u²z²/3. Below the smallest normal number the
// spacing no longer shrinks, and neither does the error. Because the spacing is constant
// between two powers of two, the model overestimates the variance by a factor of 1 to 4,
// about 2 on average. For a well-behaved result, the root mean square of the error divided
// by the standard deviation is therefore 0.7.
//
// Every operation takes the dtype to which each of its steps rounds. A machine that
// computes in f32 and stores f16 is modelled by an operation in f32 followed by
// [Matrix.Round] to f16. A machine that keeps every intermediate tile in f16 is modelled
// by the operation in f16. Sums, including those of matrix products, are always
// accumulated in f32 and rounded to the dtype at the end.
//
// All errors count as independent. Rounding errors practically are, because each depends
// on low bits that have little to do with one another. Where errors share a source (a row
// divided by one rounded norm, a residual added to a result that was computed from it),
// the shared error adds about as much as one more rounding.
//
// # Tolerances
//
// The tolerance of an element is [Sigmas] = 8 standard deviations. Sums of many roundings
// are close to normal, and a normal distribution exceeds 8 standard deviations once in
// 10^15; a single rounding never exceeds √3. The rest of the 8 is a margin for what the
// model leaves out: correlations, another order of summation, a few more roundings than
// were counted. On the other hand, in a sum of k terms of size t and random sign the
// tolerance is 8·u·√k·t/√3. A missing or doubled term t is found if k < (0.2/u)², that is
// among 190,000 terms in f16 and 3,000 in bf16. If all terms have the same sign, it is
// found among 440 terms in f16 and 55 in bf16. Sums in several parts round more often and
// hide somewhat larger mistakes.
//
// A rigorous bound would be useless. It assumes that all errors have their largest size
// and the same sign, so it grows with k where errors grow with √k, and by the same factor
// again in every layer. After two or three layers the bound exceeds the values themselves,
// and any result passes.
//
// The model has limits. Errors must be small compared with the distances over which
// functions bend; the errors of bf16 logits in the hundreds are not. And operands must not
// be constant: partial sums of a thousand equal terms are all rounded in the same
// direction, by more than 8 standard deviations in f32, where no larger rounding covers
// it. Use random operands there.
//
// Other packages provide the machine's results and compare them. This package imports
// numeric, for dtypes and conversions, internal/lists and the standard library. Operands
// with mismatched shapes panic. No function changes its operands, and all may be called
// concurrently.
package dense
