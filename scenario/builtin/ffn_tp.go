package builtin

import (
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// ffnRows is the number of rows of x that the kernel multiplies at a time.
const ffnRows = 64

// ffnTP multiplies x by w at each rank and stores the sum of the products of all ranks in
// `out`. x has m rows and k columns, and w has n columns.
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

// ffnTaskRows is the number of rows of x that a task multiplies, or whose products it adds.
const ffnTaskRows = 16

// ffnTasks submits two tasks for every ffnTaskRows rows of x: one multiplies the rows by w,
// the other adds the products of all ranks. The first is a task group whose PEs divide the
// rows among them.
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
		start := submitBarrier(b, ready, nil, products...)
		last := []task.ID{start}
		for row := 0; row < m; row += ffnTaskRows {
			rows := min(ffnTaskRows, m-row)
			last = append(last, b.Submit("sum", sumTile, task.Args{
				task.Scalar("ranks", lists.Count(0, b.NumRanks())), task.In("partial", partial.Rows(row, rows)), task.Out("out", out.Rows(row, rows)), task.Scalar("n", rows*n),
			}, task.After(start)))
		}
		submitBarrier(b, done, nil, last...)
	})
}

// ffnMultiply stores the product of x and w in partial. Each member of the task group
// computes some of the rows.
func ffnMultiply(t *tl.PE, x, w, partial tl.Ptr) {
	from, rows := chunk(x.Dim(0), t.NumPrograms(0), t.ProgramID(0))
	if rows == 0 {
		return
	}
	weights := t.Load(w, tl.Shape{w.Dim(0), w.Dim(1)}, tl.F32)
	t.Store(partial.At(from), t.Load(x.At(from), tl.Shape{rows, x.Dim(1)}, tl.F32).Dot(weights))
}

// ffnGolden computes the sum of x·w over all ranks in closed form. At each rank, x[i][l] =
// (l + a)/32 and w[l][j] = (n·l + b)/48, where a and b do not depend on l. The sum of the
// products over l therefore needs only the sums of l and l².
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
