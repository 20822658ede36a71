package ccl

import (
	"cmp"
	"fmt"
	"slices"

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

// Fits returns an error unless messages can go over the ports of an algorithm: through
// queues, if these fit into their memory, or to inboxes. In TCM there has to be room for
// the tiles of the algorithm besides, and for what Room says.
func (n *Network) Fits(a *Algorithm, p *Plan) error {
	q, spec, ports := &n.queues, n.g.Spec(), a.Ports(p)
	tiles := cmp.Or(a.Tiles, topology.LeastTiles)
	message := 1
	for _, count := range p.Counts {
		message = max(message, min(count, p.Chunk))
	}
	tile := max(leastTile, topology.Bytes(message*p.DType.Size()))
	tcm := n.Room + topology.Bytes(tiles)*tile
	text := fmt.Sprintf("%s needs %d × %v of tiles", a.Name, tiles, tile)
	if n.Room > 0 {
		text += fmt.Sprintf(", %v of the kernel that it overlaps with", n.Room)
	}
	if ports > q.MaxPorts {
		if n.QueuesAlone {
			return fmt.Errorf("%s needs %d ports, and pe.ipcq.max_ports is %d", a.Name, ports, q.MaxPorts)
		}
	} else if ports > 0 {
		text += fmt.Sprintf(" and %d ports × %d slots × %v of queues in %s", ports, q.NSlots, q.SlotSize, q.BufferKind)
		rings := topology.Bytes(ports) * topology.Bytes(q.NSlots) * q.SlotSize
		switch sram := topology.Bytes(n.sharers()) * rings; {
		case q.BufferKind == topology.BufferTCM:
			tcm += rings
		case q.BufferKind == topology.BufferSRAM && sram > spec.Cube.SRAM.Size:
			return fmt.Errorf("%s, %v for the PEs of a cube, and cube.sram.size is %v", text, sram, spec.Cube.SRAM.Size)
		case q.BufferKind == topology.BufferHBM && rings > spec.Cube.HBM.SliceSize:
			return fmt.Errorf("%s, %v, and cube.hbm.slice_size is %v", text, rings, spec.Cube.HBM.SliceSize)
		}
	}
	if tcm > spec.PE.TCM.Size {
		return fmt.Errorf("%s, %v of TCM, and pe.tcm.size is %v", text, tcm, spec.PE.TCM.Size)
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
