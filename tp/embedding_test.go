package tp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// Rows of the table arrive bit for bit, -0 among them, in every layout, on all ranks, or
// each rank's share of them.
func TestEmbedding(t *testing.T) {
	const world, vocab, hidden = 4, 24, 13
	table := make([]float32, vocab*hidden)
	for i := range table {
		table[i] = float32(i) / 8
	}
	table[5*hidden+3] = float32(math.Copysign(0, -1))
	table[5*hidden+4] = float32(math.Inf(-1))
	ids := []int{5, 0, 23, 5, 11, 12, 6, 18}
	var want []float32
	for _, id := range ids {
		want = append(want, table[id*hidden:][:hidden]...)
	}
	for _, tp := range []int{1, 2, 4} {
		for _, dtype := range []torch.DType{torch.F16, torch.F32} {
			for _, sequence := range []bool{false, true} {
				tried := layouts[:usual]
				if tp == 2 && dtype == torch.F16 {
					tried = layouts
				}
				ctx := systemOf(t, world)
				spawned(t, ctx, world, tp, func(rank int, ctx *torch.Context) error {
					rows, first := len(ids), 0
					if sequence {
						rows = len(ids) / tp
						first = rank % tp * rows
					}
					for i, on := range tried {
						o := Options{DType: dtype, SequenceParallel: sequence, Weight: &layouts[(i+1)%len(layouts)], Output: &on}
						e := torch.Must(NewVocabParallelEmbedding(ctx, "wte", vocab, hidden, o))
						torch.OK(e.Load(table))
						y := torch.Must(e.Forward(ids))
						name := fmt.Sprintf("%v over %d, %v, sequence parallel %t, rank %d", dtype, tp, on, sequence, rank)
						torch.OK(ctx.Check(name, y, want[first*hidden:][:rows*hidden]))
						torch.OK(errors.Join(y.Free(), e.Free()))
					}
					return nil
				})
				right(t, ctx)
				if n := used(ctx); n > 0 {
					t.Errorf("%v are not freed", n)
				}
			}
		}
	}
}

// Rows that are longer than a tile are looked up in pieces, over eight ranks.
func TestEmbeddingOfLongRows(t *testing.T) {
	const world, hidden = 8, 40_000
	table := make([]float32, world*hidden)
	for i := range table {
		table[i] = float32(i)
	}
	ctx := systemOf(t, world)
	var all [world][]byte
	spawned(t, ctx, world, world, func(rank int, ctx *torch.Context) error {
		e := torch.Must(NewVocabParallelEmbedding(ctx, "wte", world, hidden, Options{DType: torch.F32}))
		torch.OK(e.Load(table))
		y := torch.Must(e.Forward([]int{7}))
		torch.OK(ctx.Check("y", y, table[7*hidden:]))
		all[rank] = torch.Must(y.Numpy()).Bytes
		return nil
	})
	right(t, ctx)
	for rank := range all {
		if !bytes.Equal(all[rank], all[0]) {
			t.Errorf("rank %d has other bits than rank 0", rank)
		}
	}
}

func TestEmbeddingMisuse(t *testing.T) {
	const before = "torch: VocabParallelEmbedding wte: model parallel is not initialised: call tp.InitializeModelParallel first"
	ctx := systemOf(t, 2)
	if err := misuse(func() { NewVocabParallelEmbedding(ctx, "wte", 8, 4, Options{}) }); err == nil || err.Error() != before {
		t.Errorf("before initialisation:\ngot  %v\nwant %s", err, before)
	}
	spawned(t, ctx, 2, 2, func(rank int, ctx *torch.Context) error {
		e := torch.Must(NewVocabParallelEmbedding(ctx, "wte", 8, 4, Options{SequenceParallel: true}))
		made := func(_ *VocabParallelEmbedding, err error) error { return err }
		found := func(_ *torch.Tensor, err error) error { return err }
		for _, c := range []struct {
			err  error
			want string
		}{
			{made(NewVocabParallelEmbedding(ctx, "wte", 9, 4, Options{})), "VocabParallelEmbedding wte: 9 tokens of the vocabulary do not divide by the tensor parallel world size 2: choose a multiple"},
			{made(NewVocabParallelEmbedding(ctx, "wte", 8, 0, Options{})), "VocabParallelEmbedding wte: 0 hidden features: there has to be one"},
			{e.Load(make([]float32, 16)), "VocabParallelEmbedding wte: a weight of 16 elements, and the table has 8 × 4"},
			{found(e.Forward([]int{1, 2, 8})), "VocabParallelEmbedding wte: id 8 at position 2: the vocabulary has 0 to 7"},
			{found(e.Forward([]int{-1})), "VocabParallelEmbedding wte: id -1 at position 0: the vocabulary has 0 to 7"},
			{found(e.Forward([]int{1, 2, 3})), "VocabParallelEmbedding wte: 3 tokens do not divide by the tensor parallel world size 2: choose a multiple"},
		} {
			if c.err == nil || c.err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", c.err, c.want)
			}
		}
		return nil
	})
}

// BenchmarkEmbedding is the host's work and the simulation of looking up 512 tokens over
// the two SIPs of the default system.
func BenchmarkEmbedding(b *testing.B) {
	ctx, err := torch.New(context.Background(), torch.Options{NoData: true})
	if err != nil {
		b.Fatal(err)
	}
	defer ctx.Close()
	ids := make([]int, 512)
	for i := range ids {
		ids[i] = i * 7919 % 32000
	}
	spawned(b, ctx, 2, 2, func(rank int, ctx *torch.Context) error {
		e := torch.Must(NewVocabParallelEmbedding(ctx, "wte", 32000, 4096, Options{}))
		began := ctx.Now()
		for range b.N {
			y := torch.Must(e.Forward(ids))
			torch.OK(errors.Join(y.Free(), ctx.Synchronize()))
		}
		if rank == 0 {
			b.ReportMetric((ctx.Now()-began).NS()/float64(b.N), "simulated-ns/op")
		}
		return nil
	})
}
