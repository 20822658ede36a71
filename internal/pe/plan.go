package pe

import (
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/topology"
)

// Matrix is an operand or the result of a plan.
type Matrix struct {
	ElemBytes memory.Bytes
	// Requests appends the transfers that move a box of the matrix. It is nil if the
	// matrix is a tile in TCM.
	Requests func(to []Request, row, col, rows, cols int) []Request
	// OneRow and OneCol mean that the matrix has one row or one column, which is repeated
	// to the size of the result.
	OneRow, OneCol bool
}

// box appends to `to` the transfers that move a box of the matrix. The box starts at (row,
// col) and has the given rows and columns. A row or column that is repeated to the size of
// the result is moved only once.
func (m *Matrix) box(to []Request, row, col, rows, cols int) []Request {
	if m.Requests == nil {
		return to
	}
	row, col, rows, cols = m.clip(row, col, rows, cols)
	return m.Requests(to, row, col, rows, cols)
}

// clip returns the part of a box that has its own data: one row if the matrix is a repeated
// row, one column if it is a repeated column, else the whole box. The results are the first
// row and column and the numbers of rows and columns.
func (m *Matrix) clip(row, col, rows, cols int) (int, int, int, int) {
	if m.OneRow {
		row, rows = 0, min(rows, 1)
	}
	if m.OneCol {
		col, cols = 0, min(cols, 1)
	}
	return row, col, rows, cols
}

func (m *Matrix) bytes(rows, cols int) memory.Bytes {
	_, _, rows, cols = m.clip(0, 0, rows, cols)
	return memory.Bytes(rows) * memory.Bytes(cols) * m.ElemBytes
}

// buffer returns how much TCM a box of the matrix takes. It is 0 if the matrix is in TCM
// already.
func (m *Matrix) buffer(rows, cols int) memory.Bytes {
	if m.Requests == nil {
		return 0
	}
	return m.bytes(rows, cols)
}

// Matrices is a list of operands that are read together.
type Matrices []Matrix

// boxes appends to `to` the transfers that move the same box of each operand.
func (ms Matrices) boxes(to []Request, row, col, rows, cols int) []Request {
	for i := range ms {
		to = ms[i].box(to, row, col, rows, cols)
	}
	return to
}

// bytes returns the total size of a box of rows × cols elements of each operand.
func (ms Matrices) bytes(rows, cols int) memory.Bytes { return ms.sum((*Matrix).bytes, rows, cols) }

// buffer returns how much TCM a box of rows × cols elements of each operand takes in total.
func (ms Matrices) buffer(rows, cols int) memory.Bytes { return ms.sum((*Matrix).buffer, rows, cols) }

// sum returns the sum of size(m, rows, cols) over all operands m.
func (ms Matrices) sum(size func(m *Matrix, rows, cols int) memory.Bytes, rows, cols int) (sum memory.Bytes) {
	for i := range ms {
		sum += size(&ms[i], rows, cols)
	}
	return sum
}

// Epilogue is a list of operations on a tile of the result before it is stored.
type Epilogue struct {
	Math []numeric.Op
	Args Matrices
}

// Result is the part of a plan that finishes and writes each tile of the result.
type Result struct {
	Out      Matrix
	Epilogue Epilogue
	Costs    Costs

	reads, writes []Request // reused by Reads and Step
}

// finishBox adds to step s the work for a completed box of the result: the epilogue, the
// store and the writes. It returns how many bytes of the epilogue's operands the step
// fetches.
func (r *Result) finishBox(s *Step, row, col, rows, cols int) (fetched memory.Bytes) {
	for _, op := range r.Epilogue.Math {
		s.Run[MATH] += r.Costs.Math(op, rows*cols)
	}
	r.writes = r.Out.box(r.writes[:0], row, col, rows, cols)
	s.Output, s.Writes, s.Store = true, r.writes, r.Costs.Store(r.Out.bytes(rows, cols))
	return r.Epilogue.Args.bytes(rows, cols)
}

// GemmPlan is the plan of a matrix product. It computes the tiles of the result row by row.
// For each of them it multiplies the tiles along K in order; the sum stays in the
// accumulator.
type GemmPlan struct {
	Result
	M, K, N int
	Tile    topology.Dims3
	A, B    Matrix
}

// tilesK returns the number of tiles along K, at least 1. tilesN returns the number of
// tiles along N.
func (p *GemmPlan) tilesK() int { return max(1, ceilDiv(p.K, p.Tile.K)) }
func (p *GemmPlan) tilesN() int { return ceilDiv(p.N, p.Tile.N) }

// Steps returns the number of tile products.
func (p *GemmPlan) Steps() int { return ceilDiv(p.M, p.Tile.M) * p.tilesN() * p.tilesK() }

// Buffer returns how much TCM the operands of one tile product take.
func (p *GemmPlan) Buffer() memory.Bytes {
	m, k, n := min(p.M, p.Tile.M), min(p.K, p.Tile.K), min(p.N, p.Tile.N)
	return p.A.buffer(m, k) + p.B.buffer(k, n) + p.Epilogue.Args.buffer(m, n)
}

// Output returns how much TCM one tile of the result takes.
func (p *GemmPlan) Output() memory.Bytes {
	return p.Out.bytes(min(p.M, p.Tile.M), min(p.N, p.Tile.N))
}

// locate returns which part of the product step i computes. The box of the result starts at
// (row, col) and has rows × cols elements. The range of K starts at `in` and has `ins`
// elements. `last` reports whether this is the last range of K for the box.
func (p *GemmPlan) locate(i int) (row, col, in, rows, cols, ins int, last bool) {
	tilesK := p.tilesK()
	tile := i / tilesK
	row, col, in = tile/p.tilesN()*p.Tile.M, tile%p.tilesN()*p.Tile.N, i%tilesK*p.Tile.K
	rows, cols, ins = min(p.Tile.M, p.M-row), min(p.Tile.N, p.N-col), min(p.Tile.K, p.K-in)
	return row, col, in, rows, cols, ins, i%tilesK == tilesK-1
}

// Reads returns the transfers of the tiles of A and B for step i. The last step of a tile of
// the result also reads the operands of the epilogue.
func (p *GemmPlan) Reads(i int) []Request {
	row, col, in, rows, cols, ins, last := p.locate(i)
	p.reads = p.A.box(p.reads[:0], row, in, rows, ins)
	p.reads = p.B.box(p.reads, in, col, ins, cols)
	if last {
		p.reads = p.Epilogue.Args.boxes(p.reads, row, col, rows, cols)
	}
	return p.reads
}

// Step returns the work of tile product i.
func (p *GemmPlan) Step(i int) Step {
	row, col, _, rows, cols, ins, last := p.locate(i)
	fetched := p.A.bytes(rows, ins) + p.B.bytes(ins, cols)
	var s Step
	s.Run[GEMM] = p.Costs.Gemm(rows, ins, cols)
	if last {
		fetched += p.finishBox(&s, row, col, rows, cols)
	}
	s.Fetch = p.Costs.Fetch(fetched)
	return s
}

// The chunk sizes of an elementwise composite and of a reduction over peers. Chunks of a
// reduction are larger, because reads from other devices take long and at most maxDepth
// chunks are in flight.
const (
	StreamChunk memory.Bytes = 4 << 10
	ReduceChunk memory.Bytes = 16 << 10
)

// StreamPlan is the plan of an elementwise operation or a reduction over peers, chunk by
// chunk. A step of an elementwise operation works on a chunk of all operands. A step of a
// reduction combines a chunk of one operand with the partial result, which stays in the
// registers of the MATH engine.
type StreamPlan struct {
	Result     // an elementwise operation is the first in its Epilogue
	Rows, Cols int
	Chunk      memory.Bytes // the maximum size of a chunk of each operand and of the result
	Args       Matrices
	Reduces    bool       // the plan is a reduction
	Math       numeric.Op // the operation of a reduction
}

// chunkSize returns how many rows and columns of the result a chunk has. A chunk consists
// of whole rows if at least one row fits.
func (p *StreamPlan) chunkSize() (rows, cols int) {
	elems := int(p.Chunk / max(1, p.Out.ElemBytes))
	for i := range p.Args {
		elems = min(elems, int(p.Chunk/max(1, p.Args[i].ElemBytes))) // ElemBytes of a scalar is 0
	}
	cols = max(1, min(p.Cols, elems))
	return max(1, min(p.Rows, elems/cols)), cols
}

// perChunk returns how many steps each chunk of the result takes: one for an elementwise
// operation, one per operand for a reduction.
func (p *StreamPlan) perChunk() int {
	if p.Reduces {
		return len(p.Args)
	}
	return 1
}

// Steps returns the number of steps of the whole plan, over all chunks.
func (p *StreamPlan) Steps() int {
	rows, cols := p.chunkSize()
	return ceilDiv(p.Rows, rows) * ceilDiv(p.Cols, cols) * p.perChunk()
}

// Buffer returns how much TCM the operands of a step take, including the operands of the
// epilogue, which the last step of a chunk reads.
func (p *StreamPlan) Buffer() memory.Bytes {
	rows, cols := p.chunkSize()
	return p.Args[:len(p.Args)/p.perChunk()].buffer(rows, cols) + p.Epilogue.Args.buffer(rows, cols)
}

// Output returns how much TCM a chunk of the result takes.
func (p *StreamPlan) Output() memory.Bytes {
	rows, cols := p.chunkSize()
	return p.Out.bytes(rows, cols)
}

// locate returns the box of the result that step i works on. The box starts at (row, col)
// and has rows × cols elements. `args` are the operands that the step reads. `first` and
// `last` report whether the step is the first or the last one for this box.
func (p *StreamPlan) locate(i int) (row, col, rows, cols int, args Matrices, first, last bool) {
	per := p.perChunk()
	i, k, n := i/per, i%per, len(p.Args)/per
	rows, cols = p.chunkSize()
	across := ceilDiv(p.Cols, cols)
	row, col = i/across*rows, i%across*cols
	return row, col, min(rows, p.Rows-row), min(cols, p.Cols-col), p.Args[k*n : (k+1)*n], k == 0, k == per-1
}

// Reads returns the transfers of the operands of step i. The last step of a chunk also reads
// the operands of the epilogue.
func (p *StreamPlan) Reads(i int) []Request {
	row, col, rows, cols, args, _, last := p.locate(i)
	p.reads = args.boxes(p.reads[:0], row, col, rows, cols)
	if last {
		p.reads = p.Epilogue.Args.boxes(p.reads, row, col, rows, cols)
	}
	return p.reads
}

// Step returns the work of step i. In a reduction, the step of the first operand computes
// nothing, because there is no partial result yet to combine the operand with. An
// elementwise operation is part of the epilogue, which finishBox adds.
func (p *StreamPlan) Step(i int) Step {
	row, col, rows, cols, args, first, last := p.locate(i)
	fetched := args.bytes(rows, cols)
	var s Step
	if !first {
		s.Run[MATH] = p.Costs.Math(p.Math, rows*cols)
	}
	if last {
		fetched += p.finishBox(&s, row, col, rows, cols)
	}
	s.Fetch = p.Costs.Fetch(fetched)
	return s
}
