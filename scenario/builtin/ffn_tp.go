package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// ffnRows is the rows of x that are multiplied at a time.
const ffnRows = 64

// ffnTP leaves the sum of everybody's x·w in everybody's out.
func ffnTP(t *tl.PE, x, w, partial, out tl.Ptr, m, k, n int) {
	ranks := lists.Count(0, t.NumRanks())
	weights := t.Load(w, tl.Shape{k, n}, tl.F32).Pin()
	for row := 0; row < m; row += ffnRows {
		rows := min(ffnRows, m-row)
		t.Store(partial.At(row), t.Load(x.At(row), tl.Shape{rows, k}, tl.F32).Dot(weights))
	}
	t.Barrier(ready)
	sumTile(t, ranks, partial, out, m*n)
	t.Barrier(done)
}

// ffnTaskRows is the rows of x that a task multiplies, or whose products it sums.
const ffnTaskRows = 16

// ffnTasks has a task for some rows of the product, a group of PEs that share them, and
// one for their sum over the ranks.
func ffnTasks(b *task.Builder, x, w, partial, out *task.Tensor, m, n, group int) {
	var products []task.ID
	b.Scope("multiply", func() {
		for row := 0; row < m; row += ffnTaskRows {
			rows := min(ffnTaskRows, m-row)
			products = append(products, b.Submit("multiply", ffnMultiply, task.Args{
				task.In("x", x.Rows(row, rows)), task.In("w", w), task.Out("partial", partial.Rows(row, rows)),
			}, task.Group(group)))
		}
	})
	b.Scope("sum", func() {
		start := meet(b, ready, nil, products...)
		last := []task.ID{start}
		for row := 0; row < m; row += ffnTaskRows {
			rows := min(ffnTaskRows, m-row)
			last = append(last, b.Submit("sum", sumTile, task.Args{
				task.Scalar("ranks", lists.Count(0, b.NumRanks())), task.In("partial", partial.Rows(row, rows)), task.Out("out", out.Rows(row, rows)), task.Scalar("n", rows*n),
			}, task.After(start)))
		}
		meet(b, done, nil, last...)
	})
}

// ffnMultiply leaves x·w in partial: each member of the group does some of the rows.
func ffnMultiply(t *tl.PE, x, w, partial tl.Ptr) {
	from, rows := chunk(x.Dim(0), t.NumPrograms(0), t.ProgramID(0))
	if rows == 0 {
		return
	}
	weights := t.Load(w, tl.Shape{w.Dim(0), w.Dim(1)}, tl.F32)
	t.Store(partial.At(from), t.Load(x.At(from), tl.Shape{rows, x.Dim(1)}, tl.F32).Dot(weights))
}

// ffnGolden is that sum in closed form: x[i][l] = (k·i + l + a)/32 and w[l][j] =
// (n·l + j + b)/48 are linear in l, so that the sum over l of their product takes the
// sums of l and of l² alone.
func ffnGolden(e scenario.Env, out []float64) error {
	k, n := e.Int("k"), e.Int("n")
	kf, nf := float64(k), float64(n)
	sum1 := kf * (kf - 1) / 2
	sum2 := kf * (kf - 1) * (2*kf - 1) / 6
	for at := range out {
		i, j := float64(at/n), float64(at%n)
		for r := range e.Ranks {
			a := kf*i + 0.25*float64(r) + float64(e.Round)
			b := j + 0.5*float64(r+1)
			out[at] += (nf*sum2 + (b+nf*a)*sum1 + kf*a*b) / (32 * 48)
		}
	}
	return nil
}
