package builtin

import (
	"context"
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/torch"
)

// BenchmarkLlamaBlock measures the simulation of a transformer block with Llama-70B's sizes
// on 8 ranks of 128 PEs each, with 512 tokens and without values.
func BenchmarkLlamaBlock(b *testing.B) {
	block, _ := bench.Find("transformer_block")
	for range b.N {
		_, err := block.Execute(context.Background(), bench.Options{Params: map[string]string{"shape": "llama-70b", "tokens": "512"}, Options: torch.Options{NoData: true}})
		if err != nil {
			b.Fatal(err)
		}
	}
}
