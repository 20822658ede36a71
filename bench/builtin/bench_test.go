package builtin

import (
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/torch"
)

// BenchmarkExecute measures a whole run of each bench, with values and without.
func BenchmarkExecute(b *testing.B) {
	for _, name := range names {
		program, _ := bench.Find(name)
		for mode, noData := range map[string]bool{"data=on": false, "data=off": true} {
			b.Run(name+"/"+mode, func(b *testing.B) {
				o := bench.Options{Params: quickParams[name], Options: torch.Options{NoData: noData}}
				if program.Folder != "" {
					o.Folder = b.TempDir()
				}
				for b.Loop() {
					if _, err := program.Execute(b.Context(), o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
