package fabric

import (
	"slices"
	"testing"

	"github.com/kernbench/kernbench/topology"
)

// withBorders gives every flow of l a border: a link of its path whose departure it reports.
func (l load) withBorders() load {
	l.flows = slices.Clone(l.flows)
	for i := range l.flows {
		l.flows[i].Border = 1 + i%len(l.flows[i].Path)
	}
	return l
}

// toBorder returns the hops of the path of flow i up to its border.
func (l load) toBorder(i int) (path []Hop) {
	f := &l.flows[i]
	for _, id := range f.Path[:f.Border] {
		path = append(path, l.net[id])
	}
	return path
}

// TestLeftTakesItsFormula checks for random flows without other traffic, in both fidelities,
// that the last byte leaves the border at the time that Departure returns, unless it is read
// from HBM. The border must not change the end of the flow.
func TestLeftTakesItsFormula(t *testing.T) {
	for _, x := range mixes {
		for seed := range uint64(stressSeeds) {
			l := x.draw(seed).withBorders()
			f := l.flows[0]
			if f.Read.Slice != 0 {
				continue
			}
			f.at, f.Queue = 0, 0
			one, plain := load{net: l.net, cfg: l.cfg, flows: []flow{f}, after: []int{-1}}, f
			plain.Border = 0
			for _, fid := range fidelities {
				s := one.simulate(t, fid)
				if want := Departure(one.toBorder(0), f.Bytes, l.cfg.Flit); s.left[0] != want {
					t.Errorf("%s, seed %d: %v: %v leave link %d of %v at %v, want %v", x.name, seed, fid, f.Bytes, f.Border, f.Path, s.left[0], want)
				}
				if want := (load{net: l.net, cfg: l.cfg, flows: []flow{plain}, after: []int{-1}}).simulate(t, fid).done[0]; s.done[0] != want {
					t.Errorf("%s, seed %d: %v: %v end at %v, want %v as without a border", x.name, seed, fid, f.Bytes, s.done[0], want)
				}
			}
		}
	}
}

// TestLeftUnderContention checks for random traffic, in both fidelities, that every flow
// leaves its border once, not earlier than without other traffic, and at least the time of the
// remaining links before its end.
func TestLeftUnderContention(t *testing.T) {
	for _, x := range mixes {
		for seed := range uint64(stressSeeds) {
			l := x.draw(seed).withBorders()
			for _, fid := range fidelities {
				s := l.simulate(t, fid)
				for i, f := range l.flows {
					rest := l.net[f.Path[f.Border-1]].Latency
					for _, id := range f.Path[f.Border:] {
						last := f.Bytes
						if last > 0 {
							last = (f.Bytes-1)%l.cfg.Flit + 1 // of the last flit
						}
						rest += l.net[topology.LinkID(id)].Bandwidth.Serialize(last) + l.net[id].Latency
					}
					least := s.start[i] - rounding(f.Bytes, l.cfg.Flit)
					if f.Read.Slice == 0 {
						least += Departure(l.toBorder(i), f.Bytes, l.cfg.Flit)
					}
					if s.left[i] < least || s.left[i] > s.done[i]-rest {
						t.Errorf("%s, seed %d: %v: flow %d of %v leaves link %d of %v at %v, want from %v to %v", x.name, seed, fid, i, f.Bytes, f.Border, f.Path, s.left[i], least, s.done[i]-rest)
					}
				}
			}
		}
	}
}
