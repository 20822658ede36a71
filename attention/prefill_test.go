package attention

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// meshes lists the columns and rows of the meshes on which values are compared.
var meshes = [][2]int{{1, 1}, {1, 4}, {4, 1}, {2, 2}, {3, 2}, {4, 4}}

// TestPrefill compares the results of Prefill with the reference on meshes of several
// shapes.
func TestPrefill(t *testing.T) {
	for _, size := range meshes {
		for _, dtype := range []tl.DType{tl.F16, tl.F32} {
			for _, causal := range []bool{false, true} {
				runPrefill(t, newContext(t, torch.Options{Race: true}), Prefill{
					Mesh: onPEs(size[0], size[1]), Heads: Heads{4, 2, 16}, Tokens: 37, Causal: causal,
				}, dtype)
			}
		}
	}
}

// TestPrefillRandom compares the results of Prefill with the reference for random meshes,
// tokens and heads. Queues are so short that a message has many fragments. No run may
// deadlock.
func TestPrefillRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slots := rapid.SampledFrom([]string{"1", "4"}).Draw(r, "slots")
		self := newContext(t, torch.Options{Race: true}, "pe.ipcq.n_slots="+slots, "pe.ipcq.slot_size=256 B")
		kv := rapid.IntRange(1, 4).Draw(r, "kv")
		runPrefill(t, self, Prefill{
			Mesh:         onPEs(rapid.IntRange(1, 5).Draw(r, "w"), rapid.IntRange(1, 4).Draw(r, "h")),
			Heads:        Heads{kv * rapid.IntRange(1, 3).Draw(r, "group"), kv, 8},
			Tokens:       rapid.IntRange(1, 60).Draw(r, "tokens"),
			Causal:       rapid.Bool().Draw(r, "causal"),
			ComputeFirst: rapid.Bool().Draw(r, "compute first"),
		}, rapid.SampledFrom([]tl.DType{tl.F16, tl.F32}).Draw(r, "dtype"))
	})
}

// TestPrefillOverCubes compares the results of Prefill with the reference if the heads are
// divided over the PEs of cubes. A PE has whole KV heads, or a part of the query heads of
// one KV head.
func TestPrefillOverCubes(t *testing.T) {
	for _, h := range []Heads{{8, 1, 16}, {16, 2, 16}, {8, 8, 16}, {16, 16, 8}, {6, 3, 16}, {5, 1, 16}} {
		r := newContext(t, torch.Options{Race: true})
		runPrefill(t, r, Prefill{Mesh: OfSIP(r, 0, h.Lanes(8)), Heads: h, Tokens: 50, Causal: true}, tl.F16)
	}
}

// TestPrefillSmallTCM checks a prefill whose shards are larger than TCM. Shards then pass
// through the mesh block by block, and queries are computed chunk by chunk.
func TestPrefillSmallTCM(t *testing.T) {
	r := newContext(t, torch.Options{Race: true}, "pe.tcm.size=64 KiB", "pe.ipcq.slot_size=512 B")
	p := Prefill{Mesh: onPEs(2, 1), Heads: Heads{1, 1, 128}, Tokens: 270, Causal: true}
	if shard := p.Tokens / p.Mesh.Holders() * 2 * p.Heads.Dim * 2; shard <= 64<<10 {
		t.Fatalf("a shard of %d bytes, want more than the 64 KiB of TCM", shard)
	}
	runPrefill(t, r, p, tl.F16)
}

// TestPrefillMessages checks that every PE receives the keys and the values of every other
// PE once per KV head. PEs also forward blocks that the mask hides from their queries.
func TestPrefillMessages(t *testing.T) {
	for _, size := range meshes {
		r := newContext(t, torch.Options{KeepLog: true})
		p := Prefill{Mesh: onPEs(size[0], size[1]), Heads: Heads{4, 2, 16}, Tokens: 64, Causal: true}
		runPrefill(t, r, p, tl.F16)
		received := map[int32]int{}
		sent := 0
		for _, op := range r.Log().Ops {
			switch op.Kind {
			case oplog.Recv:
				received[int32(op.PE)]++
			case oplog.Send:
				sent++
			}
		}
		n := p.Mesh.Holders()
		for _, pe := range p.Mesh.PEs() {
			if got, want := received[int32(pe)], 2*p.Heads.KV*(n-1); got != want {
				t.Errorf("%v: %d messages arrived at PE %d, want %d", p.Mesh, got, pe, want)
			}
		}
		if want := n * 2 * p.Heads.KV * (n - 1); sent != want {
			t.Errorf("%v: %d messages were sent, want %d", p.Mesh, sent, want)
		}
	}
}

// TestPassFirstIsFaster checks that a prefill is faster if a PE forwards keys before it
// computes with them than if it forwards them afterwards.
func TestPassFirstIsFaster(t *testing.T) {
	crit := func(computeFirst bool) torch.Time {
		r := newContext(t, torch.Options{NoData: true})
		return runPrefill(t, r, Prefill{Mesh: OfCube(r, 0, 0), Heads: Heads{8, 1, 128}, Tokens: 256, ComputeFirst: computeFirst}, tl.F16).Crit()
	}
	if first, after := crit(false), crit(true); first >= after {
		t.Errorf("forwarding first takes %v, want less than the %v of computing first", first, after)
	}
}

// TestPrefillErrors checks the errors of Prefill for wrong heads, meshes and tensors.
func TestPrefillErrors(t *testing.T) {
	r := newContext(t, torch.Options{NoData: true})
	x := torch.Must(r.Zeros(tl.F16, torch.Shape{8, 8}))
	for _, test := range []struct {
		p    Prefill
		want string
	}{
		{Prefill{Mesh: Mesh{W: 2, H: 2, Lanes: [][]int{{0, 1, 2}}}, Heads: Heads{1, 1, 8}, Tokens: 8}, "a mesh of 2×2, 1 lane with 3 PEs"},
		{Prefill{Mesh: onPEs(2, 1), Heads: Heads{3, 2, 8}, Tokens: 8}, "3 query heads and 2 KV heads"},
		{Prefill{Mesh: onPEs(2, 1), Heads: Heads{2, 2, 8}}, "0 tokens"},
		{Prefill{Mesh: OfSIP(r, 0, 5), Heads: Heads{8, 8, 8}, Tokens: 8}, "take 4 lanes"},
		{Prefill{Mesh: onPEs(1, 1), Heads: Heads{1024, 1, 2048}, Tokens: 8}, "bytes of TCM"},
	} {
		if _, err := test.p.Launch(r, x, x, x, x); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Launch: got %v, want an error with %q", err, test.want)
		}
	}
}

// TestPrefillByHand checks the time of a prefill with one head of 16 elements and 16 tokens
// on one PE. Each command waits for the previous one. Times are in ns. The last column is
// the time at which the command ends:
//
//	load of K: dispatch 3, scheduler 1, descriptor 4, 2 flits 12.51687   20.51687
//	Trans: fetch 1, MATH 4, store 1                                      26.51687
//	Dot: fetch 2, GEMM 9, store 2                                        39.51687
//	Max: fetch 2, MATH 4, store 0.125                                    45.64187
//	Mul, Maximum, Neg of a column: 1.25 each                             49.39187
//	FMA: fetch 2.125, MATH 4, store 2                                    57.51687
//	Exp: fetch 2, MATH 16, store 2                                       77.51687
//	Sum: fetch 2, MATH 4; To: fetched meanwhile, MATH 4, store 1         88.51687
//	Dot: fetch 2, GEMM 9, store 2                                       101.51687
//	Maximum of a column: computed meanwhile, store 0.125                101.64187
//	Div: fetch 0.125, MATH 4, store 0.125                               105.89187
//	Mul: fetch 2.125, MATH 4, store 2                                   114.01687
//	To: fetch 2, MATH 4, store 1                                        121.01687
//	store: descriptor 4, 2 flits and a burst 12.51687                   137.53374
func TestPrefillByHand(t *testing.T) {
	r := newContext(t, torch.Options{})
	l := runPrefill(t, r, Prefill{Mesh: onPEs(1, 1), Heads: Heads{1, 1, 16}, Tokens: 16}, tl.F16)
	if got, want := l.Crit(), torch.Time(137_533_740); got != want {
		t.Errorf("crit %v, want %v", got, want)
	}
}

// TestPlacementErrors checks that Launch returns an error for tensors that do not have the
// placement, shape, dtype or layout that the kernels expect.
func TestPlacementErrors(t *testing.T) {
	r := newContext(t, torch.Options{NoData: true})
	h := Heads{Query: 8, KV: 4, Dim: 8}
	matrix := func(on torch.Placement, cols int) *torch.Tensor {
		return torch.Must(r.Zeros(tl.F16, torch.Shape{16, cols}, on))
	}
	sip0, sip1 := OfSIP(r, 0, 4), OfSIP(r, 1, 4)
	p := Prefill{Mesh: sip0, Heads: h, Tokens: 16}
	q, k := matrix(sip0.Rows(), 64), matrix(sip0.Rows(), 32)
	for _, c := range []struct {
		p          Prefill
		q, k, v, y *torch.Tensor
		want       string
	}{
		{p, q, k, k, q, ""},
		{Prefill{Mesh: sip1, Heads: h, Tokens: 16}, q, k, k, q, "does not hold rows 0 to 1 and columns 0 to 8 of it: place it as Mesh.Rows says"},
		{p, q, matrix(sip0.Rows(), 64), k, q, "attention: keys, as Heads.Spread has them for the lanes, f16 [16 64]: want f16 [16 32]"},
		{p, q, matrix(torch.OnEach(0), 64).Narrow(1, 8, 32), k, q, "attention: keys, as Heads.Spread has them for the lanes, is a view that is not contiguous: give what Contiguous returns"},
		{p, matrix(torch.DPPolicy{Cube: torch.RowWise, NumPEs: 4}, 64), k, k, q, "attention: queries: PE"},
		{p, q, k, k, torch.Must(r.Zeros(tl.F32, torch.Shape{16, 64}, sip0.Rows())), "attention: the result f32 [16 64]: want f16 [16 64]"},
	} {
		_, err := c.p.Launch(r, c.q, c.k, c.v, c.y)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	d := Decode{Mesh: sip0, Heads: h, Context: 16, Tokens: 1}
	one := torch.Must(r.Zeros(tl.F16, torch.Shape{1, 64}, sip0.Copies()))
	if _, err := d.Launch(r, one, k, k, q); err == nil || !strings.Contains(err.Error(), "the result f16 [16 64]: want f16 [4 16] on torch.On(Mesh.Roots()...)") {
		t.Errorf("decode into the wrong place: %v", err)
	}
}
