package ccl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Auto is the name by which a group asks for the algorithm that costs least.
const Auto = "auto"

// mostNear is how many neighbours a rank of an algorithm may have to be picked: more
// would never pay, and finding that out takes longer than the collective.
const mostNear = 1024

// plain is algorithms that others become on a fabric that has nothing else for them, such
// as a mesh of one row: of those that cost the same it is the first of these.
var plain = []*Algorithm{Ring, BidirectionalRing, Mesh, DualMesh, Torus}

// Pick returns the algorithm that costs least by its formula, and that cost; of those that
// cost the same, the plain one, or the first by name. It returns nil if no algorithm for the
// collective has a formula and fits.
func Pick(p *Plan, n *Network) (best *Algorithm, cost Time) {
	for _, a := range Algorithms(p.Collective) {
		if p.Ranks > mostNear && len(a.Neighbors(p, 0)) > mostNear || n.Fits(a, p) != nil {
			continue
		}
		t, ok := Cost(a, p, n)
		if ok && (best == nil || t < cost || t == cost && plainer(a, best)) {
			best, cost = a, t
		}
	}
	return best, cost
}

// plainer reports whether an algorithm comes before another among the plain ones.
func plainer(a, b *Algorithm) bool {
	i, j := slices.Index(plain, a), slices.Index(plain, b)
	return i >= 0 && (j < 0 || i < j)
}

// FitError reports that an algorithm does not fit on the PEs of a group.
type FitError struct {
	Algorithm string
	Reason    string        // what the algorithm needs, and what there is
	fix       func() string // what to change
}

func (e *FitError) Error() string {
	text := e.Algorithm + " " + e.Reason
	if e.fix != nil {
		text += "; " + e.fix()
	}
	return text
}

// TooManyPorts returns the error of an algorithm that needs a queue to each neighbour, and
// has more neighbours than a PE has ports. It names the algorithms that do with the ports.
func TooManyPorts(a *Algorithm, p *Plan, maxPorts int) *FitError {
	plan := *p
	return &FitError{a.Name, fmt.Sprintf("needs %d ports, and pe.ipcq.max_ports is %d", a.Ports(p), maxPorts), func() string {
		fix := "use fewer ranks, or raise pe.ipcq.max_ports"
		var others []string
		for _, b := range Algorithms(plan.Collective) {
			if b.Ports(&plan) <= maxPorts {
				others = append(others, b.Name)
			}
		}
		if len(others) > 0 {
			fix += fmt.Sprintf(", or choose an algorithm for %v that needs no more: %s", plan.Collective, strings.Join(others, ", "))
		}
		return fix
	}}
}

// Fits returns a *FitError unless messages can go over the ports of an algorithm: through
// queues, if these fit into their memory, or to inboxes, if the algorithm has some. In TCM
// there has to be room for the tiles of the algorithm besides, and for what Room says.
func (n *Network) Fits(a *Algorithm, p *Plan) error {
	// Most often as many queues fit as a PE may have, and need not be counted.
	if !n.queuesAlone(a) && n.fits(a, p, n.queues.MaxPorts) == nil {
		return nil
	}
	return n.fits(a, p, a.Ports(p))
}

// queuesAlone reports whether messages of an algorithm cannot go to inboxes.
func (n *Network) queuesAlone(a *Algorithm) bool { return n.QueuesAlone || a.Inbox == nil }

// fits is Fits for an algorithm that needs some ports.
func (n *Network) fits(a *Algorithm, p *Plan, ports int) error {
	q, spec := &n.queues, n.g.Spec()
	memory := func(format string, args ...any) error {
		return &FitError{a.Name, fmt.Sprintf(format, args...), func() string {
			return "use fewer or smaller slots (n_slots, slot_size), another memory for them (buffer_kind), or smaller messages (chunk_bytes)"
		}}
	}
	tiles := cmp.Or(a.Tiles, topology.LeastTiles)
	message := max(1, min(p.Largest(), p.Chunk))
	tile := max(leastTile, topology.Bytes(message*p.DType.Size()))
	tcm := n.Room + topology.Bytes(tiles)*tile
	text := fmt.Sprintf("needs %d × %v of tiles", tiles, tile)
	if n.Room > 0 {
		text += fmt.Sprintf(", %v of the kernel that it overlaps with", n.Room)
	}
	if ports > q.MaxPorts {
		if n.queuesAlone(a) {
			return TooManyPorts(a, p, q.MaxPorts)
		}
	} else if ports > 0 {
		text += fmt.Sprintf(" and %d ports × %d slots × %v of queues in %s", ports, q.NSlots, q.SlotSize, q.BufferKind)
		rings := topology.Bytes(ports) * topology.Bytes(q.NSlots) * q.SlotSize
		switch sram := topology.Bytes(n.sharers()) * rings; {
		case q.BufferKind == topology.BufferTCM:
			tcm += rings
		case q.BufferKind == topology.BufferSRAM && sram > spec.Cube.SRAM.Size:
			return memory("%s, %v for the PEs of a cube, and cube.sram.size is %v", text, sram, spec.Cube.SRAM.Size)
		case q.BufferKind == topology.BufferHBM && rings > spec.Cube.HBM.SliceSize:
			return memory("%s, %v, and cube.hbm.slice_size is %v", text, rings, spec.Cube.HBM.SliceSize)
		}
	}
	if tcm > spec.PE.TCM.Size {
		return memory("%s, %v of TCM, and pe.tcm.size is %v", text, tcm, spec.PE.TCM.Size)
	}
	return nil
}

// leastTile is the least that a tile takes of TCM.
const leastTile topology.Bytes = 256

// sharers returns how many PEs of one cube take part, at most.
func (n *Network) sharers() (most int) {
	each, count := n.g.Spec().PEsPerCube(), map[int]int{}
	for _, pe := range n.pes {
		count[pe/each]++
		most = max(most, count[pe/each])
	}
	return min(each, most*n.Lanes)
}

// Cost is how long a collective takes by an algorithm's formula, and whether it has one.
func Cost(a *Algorithm, p *Plan, n *Network) (t Time, ok bool) {
	if a.Cost == nil {
		return 0, false
	}
	if p.Ranks == 1 {
		return 0, true
	}
	n.inbox = a.Ports(p) > n.queues.MaxPorts
	if n.Beat != nil {
		n.Beat()
	}
	return a.Cost(p, n), true
}

// leg is steps of a strand that are alike: messages to one rank.
type leg struct {
	to       int // rank
	way      int // of the strand
	steps    int
	messages int // in each step
	elems    int // of each, at most
	combines bool
}

// legged is a strand that says what its steps are.
type legged interface{ legs() []leg }

// formula is what a rank does in a plan, without a PE to do it on.
func (p *Plan) formula(rank int) *member {
	nowhere := func(int) tl.Ptr { return tl.Ptr{DType: p.DType, Rank: 1, Stride: [oplog.MaxRank]int64{1}} }
	return &member{Args: &Args{Plan: p, Rank: rank, In: nowhere, Out: nowhere}}
}

// some is the ranks that stand for all: each, or some of very many.
func (n *Network) some(ranks int) func(func(int) bool) {
	const few = 64
	by := max(1, ranks/few)
	return func(yield func(int) bool) {
		for rank := 0; rank < ranks && yield(rank); rank += by {
		}
	}
}
