package tp

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// tinyTCM are settings of a device with 2 cubes of 2 PEs, whose TCM holds only a few small
// tiles.
var tinyTCM = []string{"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1", "pe.tcm.size=96 KiB", "pe.ipcq.buffer_kind=sram"}

// paths counts how often products have taken each path of the code. TestProduct must take
// every path.
type paths struct {
	keep, own, directly, rows, cols, terms, rotated, idle int
	transposedX, transposedW, ones, adds                  int
}

// record counts the code paths that product p took. It sets p.localX, which has been freed,
// to nil.
func (n *paths) record(r *torch.Rank, p *product, work []box) {
	switch {
	case p.keepX:
		n.keep++
	case p.localX != nil:
		n.own++
	default:
		n.directly++
	}
	p.localX = nil
	for seen, count := range map[*int]bool{&n.transposedX: p.x.transposed, &n.transposedW: p.w.transposed, &n.ones: p.x.blockMatrix == nil, &n.adds: p.addToY} {
		if count {
			*seen++
		}
	}
	for _, b := range work {
		blocks := p.plan(r, b, tcmBytes(r)).blocks
		if len(blocks) == 0 {
			n.idle++
			continue
		}
		first := blocks[0]
		if first.rows < b.rows {
			n.rows++
		}
		if first.cols < b.cols {
			n.cols++
		}
		if len(first.terms) > 2 {
			n.terms++
		}
		if len(first.terms) > 1 && b.cube+b.peInCube > 0 {
			n.rotated++
		}
	}
}

// TestProduct checks that random products of integers are exact in every copy of the
// result. Placements of operands and results are random, and TCM is small.
func TestProduct(t *testing.T) {
	r := newSystem(t, 1, tinyTCM...)
	var seen paths
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		policy := func(name string) torch.DPPolicy {
			split := func(level string) torch.Split { return torch.Split(n(name+level, 0, int(torch.RowWise))) }
			return torch.DPPolicy{Cube: split(" cube"), PE: split(" PE"), NumCubes: n(name+" cubes", 0, 2), NumPEs: n(name+" PEs", 0, 2)}
		}
		m, k, cols, weight := n("m", 1, 70), n("k", 1, 70), n("n", 1, 70), policy("weight")
		if n("wide", 0, 3) == 0 { // wide enough that a PE needs its rows of x several times
			m, k, cols = rapid.SampledFrom([]int{1, 37, 170}).Draw(t, "rows"), rapid.SampledFrom([]int{1, 53, 110}).Draw(t, "inner"), cols+blockCols
			weight = rapid.SampledFrom([]torch.DPPolicy{{NumCubes: 1, NumPEs: 1}, {Cube: torch.RowWise, PE: torch.RowWise}, {PE: torch.RowWise, NumCubes: 1}, {PE: torch.ColumnWise, NumPEs: 1}}).Draw(t, "wide weight")
		}
		grid := weight
		if n("elsewhere", 0, 3) == 0 && cols < blockCols {
			grid = policy("grid")
		}
		stacked := func(name string, height, width int, values []float32) (s stack) {
			for row := 0; row < height; {
				rows := n(name+" rows", 1, height-row)
				if len(s) == 2 {
					rows = height - row
				}
				x := torch.Must(r.Empty(torch.F32, torch.Shape{rows, width}, policy(name)))
				torch.OK(x.CopyFrom(values[row*width : (row+rows)*width]))
				s = append(s, x)
				row += rows
			}
			return s
		}
		x, w := integers(m*k, n("x", 1, 9)), integers(k*cols, n("w", 1, 9))
		var p product
		switch n("operand x", 0, 5) {
		default:
			p.x = stacked("x", m, k, x).blocks().factor()
		case 0:
			p.x = stacked("x", k, m, transposed(x, m, k)).blocks().transpose()
		case 1:
			m, x = 1, slices.Repeat([]float32{1}, k)
		}
		if n("operand w", 0, 2) == 0 {
			p.w = stack{torch.Must(r.FromSlice(transposed(w, k, cols), torch.F32, torch.Shape{cols, k}, weight))}.blocks().transpose()
		} else {
			p.w = stack{torch.Must(r.FromSlice(w, torch.F32, torch.Shape{k, cols}, weight))}.blocks().factor()
		}
		y := stacked("y", m, cols, slices.Repeat([]float32{0.5}, m*cols))
		p.y = y.blocks()
		var bias []float32
		if rapid.Bool().Draw(t, "biased") {
			bias = integers(cols, 4)
			p.bias = torch.Must(r.FromSlice(bias, torch.F32, torch.Shape{cols}, policy("bias")))
		} else if p.addToY = rapid.Bool().Draw(t, "adds"); p.addToY {
			bias = slices.Repeat([]float32{0.5}, cols)
		}
		before := usedHBM(r)
		torch.OK(p.launch(r, "product", grid))
		seen.record(r, &p, resultBoxes(r, grid, m, cols))
		want, row := multiply(x, w, bias, m, k, cols), 0
		for i, y := range y {
			rows := y.Shape()[0]
			torch.OK(r.Check(fmt.Sprintf("rows from %d", row), y, want[row*cols:(row+rows)*cols]))
			if wrong := r.Checks()[len(r.Checks())-1].Wrong; wrong != "" {
				t.Errorf("y[%d]: %s", i, wrong)
			}
			row += rows
		}
		if after := usedHBM(r); after != before {
			t.Errorf("%v in use after it, want %v as before", after, before)
		}
		torch.OK(stack(p.tensors()).free())
	})
	if min(seen.keep, seen.own, seen.directly, seen.rows, seen.cols, seen.terms, seen.rotated, seen.idle, seen.transposedX, seen.transposedW, seen.ones, seen.adds) == 0 {
		t.Errorf("products took the paths %+v, want each at least once", seen)
	}
}

// transposed returns the transpose of matrix a, which has the given rows and columns.
func transposed(a []float32, rows, cols int) []float32 {
	b := make([]float32, len(a))
	for i := range rows {
		for j := range cols {
			b[j*rows+i] = a[i*cols+j]
		}
	}
	return b
}

// TestLocalX checks what a PE does with rows of x that it needs several times and that do
// not fit in TCM. It must copy the rows to its own memory while it computes the first
// columns, and read them from there for all other columns.
func TestLocalX(t *testing.T) {
	r := newSystem(t, 1, tinyTCM...)
	grid := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1}
	empty := func(rows, cols int, on torch.DPPolicy) *torch.Tensor {
		return torch.Must(r.Empty(torch.F32, torch.Shape{rows, cols}, on))
	}
	const rows, k, cols = 256, 100, 2 * blockCols
	blocks := func(rows, cols int, on torch.DPPolicy) blockMatrix { return stack{empty(rows, cols, on)}.blocks() }
	p := product{x: blocks(rows, k, Spread).factor(), w: blocks(k, cols, grid).factor(), y: blocks(rows, cols, grid)}
	work := resultBoxes(r, grid, rows, cols)
	torch.OK(p.prepareReuse(r, grid, work, tcmBytes(r)))
	for _, b := range work {
		written := map[tl.Ptr]bool{}
		later := 0
		for _, block := range p.plan(r, b, tcmBytes(r)).blocks {
			for _, term := range block.terms {
				switch {
				case term.localX != nil:
					written[*term.localX] = true
				case !written[term.x]:
					t.Fatalf("PE %d reads x at %#x, where it has not written it", b.pe, term.x.Addr)
				default:
					later++
				}
			}
		}
		if len(written) == 0 || later < 2*len(written) {
			t.Errorf("PE %d writes %d tiles and reads %d, want some and several times as many", b.pe, len(written), later)
		}
	}
}
