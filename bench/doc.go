// Package bench is the contract of a bench and the registry of all there are.
//
// A bench is a program on a simulated machine that finds something out and checks
// what it computed:
//
//	func init() {
//		bench.Register(bench.Bench{
//			Name:    "scale",
//			Summary: "doubles a vector on one PE",
//			Run: func(ctx *torch.Context) error {
//				x, err := ctx.FromSlice([]float32{1, 2, 3}, torch.F16, torch.Shape{3})
//				if err != nil {
//					return err
//				}
//				if _, err := ctx.Launch("scale", scale, x, 3); err != nil {
//					return err
//				}
//				return ctx.Check("x", x, []float32{2, 4, 6})
//			},
//		})
//	}
//
// A bench may have parameters ([Param]), which are flags on the command line and
// ctx.Param for the bench.
//
// Registered benches are what `kernbench list` shows and `kernbench run` runs; a
// program of your own registers its benches and calls kernbench.Main. [Bench.Execute]
// runs one and is a [Result], whose JSON is a contract.
//
// The built-in benches are in package benches, flags and exit codes in
// internal/cli. The package imports torch and internal/report, and of the layers
// above them only what errors and op logs are made of.
package bench
