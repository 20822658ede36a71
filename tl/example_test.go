package tl_test

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/tl"
)

// helloSend passes each PE's tile to its east neighbour.
func helloSend(t *tl.PE, x tl.Ptr, n int) {
	t.Send(tl.East, t.Load(x, tl.Shape{n}, tl.F16))
	t.Store(x, t.Recv(tl.West, tl.Shape{n}, tl.F16))
}

// Example_helloSend runs helloSend on three PEs in a ring.
func Example_helloSend() {
	launch := newEager(3)
	x := launch.tensor(tl.F16, tl.Shape{2}, []float64{1, 2}, []float64{3, 4}, []float64{5, 6})
	launch.run("hello_send", func(t *tl.PE) { helloSend(t, x[t.Rank()], 2) })
	for _, p := range x {
		fmt.Println(launch.values(p, 2))
	}
	// Output:
	// [5 6]
	// [1 2]
	// [3 4]
}

// add computes z = x + y. The PEs take blocks in turn; the last block is partial.
func add(t *tl.PE, x, y, z tl.Ptr, n int) {
	const block = 4
	for i := block * t.Rank(); i < n; i += block * t.NumRanks() {
		a := t.Load(x.At(i), tl.Shape{block}, tl.F16, tl.Mask(n-i))
		b := t.Load(y.At(i), tl.Shape{block}, tl.F16, tl.Mask(n-i))
		t.Store(z.At(i), a.Add(b), tl.Mask(n-i))
	}
}

// Example_vectorAdd adds vectors whose length is not a multiple of the block. A mask
// handles the partial block at the end.
func Example_vectorAdd() {
	launch := newEager(2)
	x := launch.tensor(tl.F16, tl.Shape{10}, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})[0]
	y := launch.tensor(tl.F16, tl.Shape{10}, []float64{9, 9, 9, 9, 9, 9, 9, 9, 9, 9})[0]
	z := launch.tensor(tl.F16, tl.Shape{10})[0]
	launch.run("add", func(t *tl.PE) { add(t, x, y, z, 9) })
	fmt.Println(launch.values(z, 10))
	// Output: [9 10 11 12 13 14 15 16 17 0]
}

// matmul computes c = a × b in tiles, for an m × k matrix a and a k × n matrix b.
func matmul(t *tl.PE, a, b, c tl.Ptr, m, k, n int) {
	const bm, bk, bn = 2, 4, 2
	cols := tl.CDiv(n, bn)
	for tile := t.Rank(); tile < tl.CDiv(m, bm)*cols; tile += t.NumRanks() {
		i, j := tile/cols*bm, tile%cols*bn
		acc := t.Zeros(tl.Shape{bm, bn}, tl.F32)
		for l := 0; l < k; l += bk {
			x := t.Load(a.At(i, l), tl.Shape{bm, bk}, tl.F16, tl.Mask(m-i, k-l))
			y := t.Load(b.At(l, j), tl.Shape{bk, bn}, tl.F16, tl.Mask(k-l, n-j))
			acc = x.Dot(y, acc)
		}
		t.Store(c.At(i, j), acc.To(tl.F16), tl.Mask(m-i, n-j))
	}
}

// Example_matmul multiplies matrices tile by tile in a kernel. Then it does the same with
// one composite command that has an epilogue.
func Example_matmul() {
	launch := newEager(4)
	const m, k, n = 3, 5, 3
	ones, counts := make([]float64, m*k), make([]float64, k*n)
	for i := range ones {
		ones[i] = 1
	}
	for i := range counts {
		counts[i] = float64(i)
	}
	a := launch.tensor(tl.F16, tl.Shape{m, k}, ones)[0]
	b := launch.tensor(tl.F16, tl.Shape{k, n}, counts)[0]
	c := launch.tensor(tl.F16, tl.Shape{m, n})[0]
	launch.run("matmul", func(t *tl.PE) { matmul(t, a, b, c, m, k, n) })
	fmt.Println(launch.values(c, m*n))

	launch.run("composite", func(t *tl.PE) {
		if t.Rank() == 0 {
			gemm := tl.Gemm(t.Ref(a, tl.Shape{m, k}, tl.F16), t.Ref(b, tl.Shape{k, n}, tl.F16), c)
			t.Wait(t.Composite(gemm, tl.Do(tl.OpSub, 31), tl.Do(tl.OpMaximum, 0)))
		}
	})
	fmt.Println(launch.values(c, m*n))
	// Output:
	// [30 35 40 30 35 40 30 35 40]
	// [0 4 9 0 4 9 0 4 9]
}

// softmax computes the softmax of each row of x. Elements of a block outside the row read
// as minus infinity, so they add nothing to the sum.
func softmax(t *tl.PE, x, y tl.Ptr, rows, cols int) {
	const block = 8
	for r := t.Rank(); r < rows; r += t.NumRanks() {
		row := t.Load(x.At(r), tl.Shape{block}, tl.F32, tl.Mask(cols), tl.Other(math.Inf(-1)))
		e := row.Sub(row.Max(0)).Exp()
		t.Store(y.At(r), e.Div(e.Sum(0)), tl.Mask(cols))
	}
}

// Example_softmax computes the softmax of rows in a kernel, from elementwise operations and
// reductions.
func Example_softmax() {
	launch := newEager(2)
	x := launch.tensor(tl.F32, tl.Shape{2, 4}, []float64{7, 7, 7, 7, 0, 0, -100, -100})[0]
	y := launch.tensor(tl.F32, tl.Shape{2, 4})[0]
	launch.run("softmax", func(t *tl.PE) { softmax(t, x, y, 2, 4) })
	for r := range 2 {
		fmt.Printf("%.3f\n", launch.values(y.At(r), 4))
	}
	// Output:
	// [0.250 0.250 0.250 0.250]
	// [0.500 0.500 0.000 0.000]
}

// ExampleReducePeers computes the mean over ranks at one rank, the root. The root reads the
// windows of all ranks with one command.
func ExampleReducePeers() {
	launch := newEager(4)
	x := launch.tensor(tl.F16, tl.Shape{3}, []float64{1, 2, 3}, []float64{5, 6, 7}, []float64{0, 0, 0}, []float64{2, 4, 6})
	mean := launch.tensor(tl.F32, tl.Shape{3})
	const ready, read, root = 0, 1, 2
	launch.run("mean", func(t *tl.PE) {
		if t.Rank() != root {
			t.Notify(root, ready, tl.Add, 1)
			t.WaitSignal(read, tl.EQ, 1) // from here on the rank may overwrite x
			return
		}
		t.WaitSignal(ready, tl.EQ, t.NumRanks()-1)
		sum := tl.ReducePeers(tl.OpAdd, mean[root], x[root], tl.Shape{3}, tl.F16)
		t.Wait(t.Composite(sum, tl.Do(tl.OpDiv, t.NumRanks())))
		for peer := range t.NumRanks() {
			t.Notify(peer, read, tl.Set, 1)
		}
	})
	fmt.Println(launch.values(mean[root], 3))
	// Output:
	// [2 3 4]
}
