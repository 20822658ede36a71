package attention

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// BenchmarkPrefill measures the simulation of a prefill: 1,024 tokens and 8 query heads on
// the PEs of one cube. No values are computed.
func BenchmarkPrefill(b *testing.B) {
	r := newContext(b, torch.Options{NoData: true})
	for b.Loop() {
		runPrefill(b, r, Prefill{Mesh: OfCube(r, 0, 0), Heads: Heads{8, 1, 128}, Tokens: 1024}, tl.F16)
	}
}

// BenchmarkDecode measures the simulation of a decode: one token and 8 query heads, with a
// context of 8,192 tokens, on the PEs of one cube. No values are computed.
func BenchmarkDecode(b *testing.B) {
	r := newContext(b, torch.Options{NoData: true})
	for b.Loop() {
		runDecode(b, r, Decode{Mesh: OfCube(r, 0, 0), Heads: Heads{8, 1, 128}, Context: 8192, Tokens: 1}, tl.F16)
	}
}
