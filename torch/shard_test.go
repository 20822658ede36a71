package torch_test

import (
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestBeyondTheShard checks that any kind of access beyond the shard of a PE is an error
// that names the tensor, the shard and the line of the kernel. PE 1 has a neighbour on both
// sides, with memory directly before and after its own memory.
func TestBeyondTheShard(t *testing.T) {
	const beyond = ": move the pointer, or mask what lies beyond"
	const whole = beyond + "; Ptr.Whole points to the whole tensor"
	vector := tl.Shape{64}
	for _, c := range []struct {
		name   string
		kernel func(t *tl.PE, x, m tl.Ptr)
		want   string // LINE stands for the kernel's line
	}{
		{"Load", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.At(32), vector, tl.F32) },
			"Load([64] f32) at LINE: elements 32 to 95 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"Load before the start", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.At(-1), tl.Shape{1}, tl.F32) },
			"Load([1] f32) at LINE: elements -1 to -1 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"Load of another dtype", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.As(tl.F16).At(127), tl.Shape{2}, tl.F16) },
			"Load([2] f16) at LINE: elements 127 to 128 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 128" + whole},
		{"Load with a mask", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.At(32), vector, tl.F32, tl.Mask(33)) },
			"Load([64] f32 mask [33]) at LINE: elements 32 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"strided Load", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.Strided(9, 1), tl.Shape{8, 2}, tl.F32) },
			"Load([8 2] f32) at LINE: elements 0 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"Load of rows", func(t *tl.PE, x, m tl.Ptr) { t.Load(m.At(1, 2), tl.Shape{2, 4}, tl.F32) },
			"Load([2 4] f32) at LINE: elements 10 to 21 are not all in this PE's shard [2:4, 0:8] of tensor 2 [8 8] f32, which has 16" + whole},
		{"Store", func(t *tl.PE, x, m tl.Ptr) { t.Store(x.At(1), t.Zeros(vector, tl.F32)) },
			"Store([64] f32) at LINE: elements 1 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"Ref", func(t *tl.PE, x, m tl.Ptr) { t.Send(tl.East, t.Ref(x.At(1), vector, tl.F32)) },
			"Ref([64] f32) at LINE: elements 1 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"RecvInto", func(t *tl.PE, x, m tl.Ptr) { t.RecvInto(tl.East, x.At(1), vector, tl.F32) },
			"RecvInto([64] f32) at LINE: elements 1 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"operand of a composite", func(t *tl.PE, x, m tl.Ptr) { t.Composite(tl.Stream(tl.OpNeg, x, t.Ref(x.At(1), vector, tl.F32))) },
			"Ref([64] f32) at LINE: elements 1 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"result of a composite", func(t *tl.PE, x, m tl.Ptr) { t.Composite(tl.Stream(tl.OpNeg, x.At(1), t.Ref(x, vector, tl.F32))) },
			"Stream(neg, ref [64] f32) at LINE: elements 1 to 64 are not all in this PE's shard [64:128] of tensor 1 [254] f32, which has 64" + whole},
		{"result of a Gemm", func(t *tl.PE, x, m tl.Ptr) {
			t.Composite(tl.Gemm(t.Ref(x, tl.Shape{8, 8}, tl.F32), t.Ref(x, tl.Shape{8, 8}, tl.F32), m))
		}, "Gemm(ref [8 8] f32, ref [8 8] f32) at LINE: elements 0 to 63 are not all in this PE's shard [2:4, 0:8] of tensor 2 [8 8] f32, which has 16" + whole},
		{"Get", func(t *tl.PE, x, m tl.Ptr) { t.Get(2, x.At(32), vector, tl.F32) },
			"Get(rank 2, [64] f32) at LINE: elements 32 to 95 are not all in the shard of rank 2 of tensor 1 [254] f32, which has 64" + beyond},
		{"Put", func(t *tl.PE, x, m tl.Ptr) { t.Put(3, x, t.Zeros(vector, tl.F32)) },
			"Put(rank 3, [64] f32) at LINE: elements 0 to 63 are not all in the shard of rank 3 of tensor 1 [254] f32, which has 62" + beyond},
		{"Put through Whole", func(t *tl.PE, x, m tl.Ptr) { t.Put(0, x.Whole(), t.Zeros(vector, tl.F32)) },
			"Put(rank 0, [64] f32) at LINE: the pointer is to the whole tensor: Put and Get count from the start of a shard, so leave out Whole"},
		{"beyond the whole tensor", func(t *tl.PE, x, m tl.Ptr) { t.Load(x.Whole().At(200), vector, tl.F32) },
			"Load([64] f32) at LINE: elements 200 to 263 are not all in tensor 1 [254] f32, which has 254" + beyond},
	} {
		l := hostedtest.New(t, torch.Options{})
		x := l.Ints(lists.Count(0, 254), torch.F32, torch.On(0, 1, 2, 3)) // shards of 64, 64, 64 and 62 elements
		m := l.Ints(lists.Count(0, 64), torch.F32, torch.On(0, 1, 2, 3), 8, 8)
		err := try(l, "k", func(t *tl.PE, x, m tl.Ptr) {
			if t.Rank() == 1 {
				c.kernel(t, x, m)
			}
		}, x, m, torch.Neighbors(torch.Ring(0, 1, 2, 3)))
		got := "nothing"
		if err != nil {
			got = regexp.MustCompile(`shard_test\.go:\d+`).ReplaceAllString(err.Error(), "LINE")
		}
		if want := "launch k: kernel k on sip0.cube0.pe1: " + c.want; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// TestWithinTheShard checks three kinds of accesses that are allowed: up to the ends of the
// shard, beyond the shard where a mask excludes the elements, and through Whole. A PE that
// holds no shard gets a pointer to the whole tensor.
func TestWithinTheShard(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(lists.Count(0, 254), torch.I32, torch.On(0, 1, 2, 3))
	sums := l.MustZeros(torch.I32, torch.On(0, 1, 2, 3, 9), 5, 2)
	l.MustLaunch("k", func(t *tl.PE, x, sums tl.Ptr) {
		whole := x.At(7).Whole() // the start of the tensor, whatever x points to
		t.Store(sums, t.Load(whole, tl.Shape{254}, tl.I32).Sum(0))
		own := t.Load(x, tl.Shape{64}, tl.I32, tl.Mask(x.Dim(0))) // 62 elements in the last shard
		t.Load(x.At(64), tl.Shape{64}, tl.I32, tl.Mask(0))
		if x.Dim(0) == 0 {
			own = t.Load(x.At(64), tl.Shape{190}, tl.I32)
		}
		t.Store(sums.At(0, 1), own.Sum(0))
	}, x, sums)
	want := []int{}
	for _, n := range [][2]int{{0, 64}, {64, 128}, {128, 192}, {192, 254}, {64, 254}} {
		want = append(want, 254*253/2, (n[1]-n[0])*(n[0]+n[1]-1)/2)
	}
	l.Holds("sums of all and of the PE's own", sums, want)
}
