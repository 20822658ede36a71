package coll_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/numeric"
)

var (
	kinds  = []coll.Kind{coll.KindAllReduce, coll.KindReduce, coll.KindBroadcast, coll.KindAllGather, coll.KindReduceScatter, coll.KindAllToAll, coll.KindGather, coll.KindScatter}
	dtypes = []numeric.DType{numeric.F16, numeric.BF16, numeric.F32, numeric.F64, numeric.I32, numeric.I64}
	ops    = []coll.Op{coll.Sum, coll.Prod, coll.Min, coll.Max, coll.Avg}
)

// picker draws a number below n, from rapid or from a random generator.
type picker func(what string, n int) int

// job is a collective with its inputs and expected results.
type job struct {
	kind        coll.Kind
	dtype       numeric.DType
	op          coll.Op
	root, count int
	ranks       []part
}

// part is the part of one rank in a job.
type part struct {
	src, dst location
	inPlace  bool   // the smaller buffer is a piece of the larger one
	in, want []byte // input in src and expected result in dst; if want is nil, dst must not change
}

// location is the location of a buffer: in the window, or in private memory of the rank.
type location struct {
	window   bool
	off, len int
}

func (j *job) String() string {
	return fmt.Sprintf("%v of %d %v, %v, root %d", j.kind, j.count, j.dtype, j.op, j.root)
}

// wide reports, for collective k, whether src has one piece for each rank, and whether dst
// has one piece for each rank.
func wide(k coll.Kind) (src, dst bool) {
	switch k {
	case coll.KindAllGather, coll.KindGather:
		return false, true
	case coll.KindReduceScatter, coll.KindScatter:
		return true, false
	case coll.KindAllToAll:
		return true, true
	}
	return false, false
}

// guard is the number of bytes before and after dst that must not change.
const guard = 16

// newJob picks a random collective of n ranks and fills its inputs. It draws all choices
// with `pick`. The buffers fit into memoryBytes at each rank. slot is the size of a slot of
// the group.
func newJob(pick picker, n, slot, memoryBytes int) *job {
	j := &job{
		kind:  kinds[pick("kind", len(kinds))],
		dtype: dtypes[pick("dtype", len(dtypes))],
		op:    ops[pick("op", len(ops))],
		root:  pick("root", n),
	}
	size := j.dtype.Size()
	maxCount := (memoryBytes/2 - 5*guard) / size
	if src, dst := wide(j.kind); src || dst {
		maxCount /= n
	}
	counts := []int{0, 1, 3, n - 1, n + 1, slot/size - 1, slot/size + 1, 2 * slot / size, 3*slot/size + 5, slot/size/n + 1}
	if i := pick("count", len(counts)+3); i < len(counts) {
		j.count = min(counts[i], maxCount)
	} else {
		j.count = pick("elements", maxCount+1)
	}
	j.placeBuffers(pick, n, memoryBytes)
	j.fillInputs(rand.New(rand.NewPCG(uint64(pick("seed", 1<<20)), 1)), n)
	return j
}

// placeBuffers draws the locations of all buffers of the job: in the window or in private
// memory, and the offset. n is the number of ranks.
func (j *job) placeBuffers(pick picker, n, memoryBytes int) {
	residence := pick("residence", 4) // 0: all private, 1: all in the window, 2 and 3: mixed
	inPlace := pick("in place", 3) == 0
	size := j.dtype.Size()
	wideSrc, wideDst := wide(j.kind)
	for rank := range n {
		var p part
		at := func() location {
			s := location{window: residence == 1, len: j.count * size}
			if residence > 1 {
				s.window = pick("window", 2) == 1
			}
			s.off = 2*guard + size*pick("skew", 4)
			return s
		}
		p.src, p.dst = at(), at()
		p.dst.off += memoryBytes / 2
		if wideSrc {
			p.src.len *= n
		}
		if wideDst {
			p.dst.len *= n
		}
		isRoot := !j.kind.Rooted() || rank == j.root
		switch {
		case j.kind == coll.KindBroadcast:
			p.inPlace = true
			p.dst = p.src
		case !isRoot && pick("unused", 2) == 0: // the unused buffer may be empty
			if j.kind == coll.KindScatter {
				p.src.len = 0
			} else {
				p.dst.len = 0
			}
		case !isRoot || !inPlace || j.kind == coll.KindAllToAll:
		case wideDst:
			p.inPlace = true
			p.src.window, p.src.off = p.dst.window, p.dst.off+rank*p.src.len
		case wideSrc:
			p.inPlace = true
			p.dst.window, p.dst.off = p.src.window, p.src.off+rank*p.dst.len
		default:
			p.inPlace = true
			p.dst = p.src
		}
		j.ranks = append(j.ranks, p)
	}
}

// fillInputs draws the inputs of all ranks and computes the expected results. n is the
// number of ranks.
func (j *job) fillInputs(r *rand.Rand, n int) {
	for rank := range j.ranks {
		p := &j.ranks[rank]
		p.in = randomValues(r, j.dtype, p.src.len/j.dtype.Size())
	}
	bytes := j.count * j.dtype.Size()
	piece := func(rank, i int) []byte { return j.ranks[rank].in[i*bytes:][:bytes] }
	all := func(i int) (list [][]byte) {
		for rank := range n {
			list = append(list, piece(rank, i))
		}
		return list
	}
	for rank := range j.ranks {
		p := &j.ranks[rank]
		switch j.kind {
		case coll.KindAllReduce, coll.KindReduce:
			p.want = reduceInOrder(j.dtype, j.op, all(0))
		case coll.KindBroadcast:
			p.want = piece(j.root, 0)
		case coll.KindAllGather, coll.KindGather:
			p.want = slices.Concat(all(0)...)
		case coll.KindReduceScatter:
			p.want = reduceInOrder(j.dtype, j.op, all(rank))
		case coll.KindAllToAll:
			p.want = slices.Concat(all(rank)...)
		case coll.KindScatter:
			p.want = piece(j.root, rank)
		}
		if (j.kind == coll.KindReduce || j.kind == coll.KindGather) && rank != j.root {
			p.want = nil
		}
	}
}

// reduceInOrder combines the data of all ranks, in the order of ranks, and returns the
// result. operands has the data by rank.
func reduceInOrder(d numeric.DType, op coll.Op, operands [][]byte) []byte {
	acc := slices.Clone(operands[0])
	do := map[coll.Op]numeric.Op{coll.Sum: numeric.Add, coll.Avg: numeric.Add, coll.Prod: numeric.Mul, coll.Min: numeric.Minimum, coll.Max: numeric.Maximum}[op]
	for _, x := range operands[1:] {
		numeric.Apply(do, d, acc, acc, x)
	}
	if op == coll.Avg {
		divisor := make([]byte, len(acc))
		for i := range len(acc) / d.Size() {
			numeric.Set(d, divisor, i, float64(len(operands)))
		}
		numeric.Apply(numeric.Div, d, acc, acc, divisor)
	}
	return acc
}

// randomValues returns n random elements of dtype d. Integers have all magnitudes. Floats
// are normally distributed, except for some special values such as infinities and NaN.
func randomValues(r *rand.Rand, d numeric.DType, n int) []byte {
	b := make([]byte, n*d.Size())
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-7, 6e4}
	for i := range n {
		switch {
		case !d.IsFloat():
			numeric.SetInt(d, b, i, int64(r.Uint64()>>r.IntN(64)))
		case r.IntN(32) == 0:
			numeric.Set(d, b, i, special[r.IntN(len(special))])
		default:
			numeric.Set(d, b, i, r.NormFloat64()*3)
		}
	}
	return b
}

// wrongResult is the error for a job with a wrong result.
type wrongResult string

func (w wrongResult) Error() string { return string(w) }

// memory holds the memory in which a rank places its buffers: its part of a window, and
// private memory.
type memory struct{ window, private []byte }

// newMemory allocates a window and private memory, each with the given number of bytes.
func newMemory(c *comm.Comm, bytes int) (memory, error) {
	w, err := c.AllocWindow(int64(bytes), 0)
	if err != nil {
		return memory{}, err
	}
	words := make([]uint64, (bytes+7)/8)
	return memory{w.Local(), unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), bytes)}, nil
}

// bytes returns the bytes of location s, extended by the given number of bytes before and
// after.
func (m memory) bytes(s location, around int) []byte {
	b := m.private
	if s.window {
		b = m.window
	}
	return b[s.off-around : s.off+s.len+around]
}

// run executes this rank's part of the job. It checks that dst has the expected result, and
// that src and the `guard` bytes before and after dst have not changed. It calls pause
// before the collective and before the check of dst. To provoke races, it overwrites src
// before the second pause. If dst and src share memory, run neither checks nor overwrites
// src.
func (j *job) run(g *coll.Group, m memory, pause func()) error {
	const before, after = 0xAA, 0xEE
	p := &j.ranks[g.Comm().Rank()]
	src, dst, watched := m.bytes(p.src, 0), m.bytes(p.dst, 0), m.bytes(p.dst, guard)
	fillWith(watched, before)
	copy(src, p.in)
	want := slices.Clone(watched)
	if p.want != nil && p.dst.len > 0 {
		copy(want[guard:], p.want)
	}
	pause()
	if err := g.Do(j.kind, j.dtype, j.op, j.root, dst, src); err != nil {
		return err
	}
	if !p.inPlace {
		if !bytes.Equal(src, p.in) {
			return wrongResult(fmt.Sprintf("%v, rank %d: src has changed", j, g.Comm().Rank()))
		}
		fillWith(src, after)
	}
	pause()
	if bytes.Equal(watched, want) {
		return nil
	}
	for i := range watched {
		if watched[i] != want[i] {
			return wrongResult(fmt.Sprintf("%v, rank %d: byte %d of %d is %#x, want %#x", j, g.Comm().Rank(), i-guard, len(dst), watched[i], want[i]))
		}
	}
	return nil
}

func fillWith(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
