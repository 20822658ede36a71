package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("domain_rank_map")
	scenario.RegisterKernel("domain_rank_map", domainRankMap)
	register("dual_domain_overlap")
	scenario.RegisterKernel("dual_domain_overlap", dualDomainOverlap)
}

// domainRankMap leaves in the sums of each domain what its members have in x, and in
// the maps the ranks of all there: -1 for those that are no members.
func domainRankMap(t *tl.PE, x, evenX, oddX, evenSum, oddSum, evenMap, oddMap tl.Ptr, n int, even, odd scenario.Domain) {
	sumInDomain(t, even, 0, x, evenX, evenSum, n)
	sumInDomain(t, odd, 2, x, oddX, oddSum, n)
	writeMap(t, even, evenMap)
	writeMap(t, odd, oddMap)
}

// sumInDomain shows x to the other members of a domain, if this rank is one, and adds
// up what they show. It takes two signals.
func sumInDomain(t *tl.PE, d scenario.Domain, signal int, x, shown, out tl.Ptr, n int) {
	if d.Rank < 0 {
		return
	}
	blocks(n, func(at, elems int) {
		t.Store(shown.At(at), t.Load(x.At(at), tl.Shape{elems}, tl.F32))
	})
	Barrier(t, signal, d.Ranks...)
	blocks(n, func(at, elems int) {
		t.Store(out.At(at), sum(t, d.Ranks, shown.At(at), elems))
	})
	Barrier(t, signal+1, d.Ranks...)
}

func writeMap(t *tl.PE, d scenario.Domain, out tl.Ptr) {
	for rank := range t.NumRanks() {
		inside, err := d.Lookup(rank)
		if err != nil {
			inside = -1
		}
		t.Store(out.At(rank), t.Full(tl.Shape{1}, tl.I32, float64(inside)))
	}
}

// dualDomainOverlap leaves in the outputs of each domain the sum of its members' x,
// times 0.5 + 0.01·rank, plus 10 + rank. Whoever is in both domains works in both at
// once.
func dualDomainOverlap(t *tl.PE, x, leftX, rightX, leftOut, rightOut tl.Ptr, n int, left, right scenario.Domain) {
	domains := []struct {
		scenario.Domain
		inbox, out tl.Ptr
		signal     int
	}{{left, leftX, leftOut, 0}, {right, rightX, rightOut, 2}}

	for _, d := range domains {
		if d.Rank >= 0 {
			Barrier(t, d.signal+ready, d.Ranks...)
		}
	}
	for _, d := range domains {
		if d.Rank < 0 {
			continue
		}
		for _, peer := range d.Ranks {
			blocks(n, func(at, elems int) {
				row := t.Load(x.At(at), tl.Shape{elems}, tl.F32)
				if place := d.inbox.At(d.Rank, at); peer == t.Rank() {
					t.Store(place, row)
				} else {
					t.Put(peer, place, row)
				}
			})
			if peer != t.Rank() {
				t.Notify(peer, d.signal+done, tl.Add, 1)
			}
		}
	}
	scale, shift := 0.5+0.01*float64(t.Rank()), 10+float64(t.Rank())
	for _, d := range domains {
		if d.Rank < 0 {
			continue
		}
		t.WaitSignal(d.signal+done, tl.EQ, len(d.Ranks)-1)
		blocks(n, func(at, elems int) {
			total := t.Load(d.inbox.At(0, at), tl.Shape{elems}, tl.F32)
			for member := range d.Ranks[1:] {
				total = total.Add(t.Load(d.inbox.At(member+1, at), tl.Shape{elems}, tl.F32))
			}
			t.Store(d.out.At(at), total.Mul(scale).Add(shift))
		})
	}
}
