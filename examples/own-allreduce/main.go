// Command ownallreduce is kernbench with the benches and algorithms of
// docs/write/ccl-author-guide.md.
package main

import (
	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/bench"
)

func main() {
	bench.Register(bench.Bench{Name: "hello", Summary: "two ranks and a message", Run: runHello})
	bench.Register(bench.Bench{Name: "line_sum", Summary: "a sum along a line of PEs", Run: runLineSum})
	kernbench.Main()
}
