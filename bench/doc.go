// Package bench is the contract of a bench and the registry of all benches.
//
// A bench is a program on a simulated machine that measures something and checks what it
// computed:
//
//	func init() {
//		bench.Register(bench.Bench{
//			Name:    "scale",
//			Summary: "doubles a vector on one PE",
//			Metrics: metrics{},
//			Run: func(b *bench.B) error {
//				x, err := b.FromSlice([]float32{1, 2, 3}, torch.F16, torch.Shape{3})
//				if err != nil {
//					return err
//				}
//				l, err := b.Launch("scale", scale, x, 3)
//				if err != nil {
//					return err
//				}
//				b.Metrics(metrics{Elems: 3, Time: l.Crit()})
//				return b.Check("x", x, []float32{2, 4, 6})
//			},
//		})
//	}
//
//	type metrics struct {
//		Elems int        `json:"elems" table:",setting"`
//		Time  torch.Time `json:"time_ns" table:"ns,lower"`
//	}
//
// Run is called with a [B], which embeds the context of the machine. Row and Metrics
// declare the columns of the results: name, unit, role and label are tags of a struct's
// fields, so that commands know which numbers are settings, and of which less or more is
// better. A bench may have parameters ([Param]), which are flags on the command line and
// [B.Param] for the bench.
//
// `kernbench list` shows the registered benches and `kernbench run` runs one; a program of
// your own registers its benches and calls kernbench.Main. [Bench.Execute] runs a bench and
// returns a [Result], whose JSON is a contract.
//
// The built-in benches are in package benches, flags and exit codes in internal/cli. The
// package imports torch and internal/table, and of the layers above them only what errors
// and op logs are made of.
package bench
