package cost

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// FitError reports that an algorithm does not fit into the ports or the memory of the PEs
// of a group.
type FitError struct {
	Algorithm string
	Reason    string        // what the algorithm needs, and what the PEs have
	fix       func() string // what to change
}

func (e *FitError) Error() string {
	text := e.Algorithm + " " + e.Reason
	if e.fix != nil {
		text += "; " + e.fix()
	}
	return text
}

// TooManyPorts returns the error for an algorithm that needs a queue to each neighbour but
// has more neighbours than the maxPorts ports of a PE. The error lists the algorithms that
// need at most maxPorts ports.
func TooManyPorts(a *ccl.Algorithm, p *ccl.Plan, maxPorts int) *FitError {
	plan := *p
	return &FitError{a.Name, fmt.Sprintf("needs %d ports, and pe.ipcq.max_ports is %d", a.Ports(p), maxPorts), func() string {
		fix := "use fewer ranks, or raise pe.ipcq.max_ports"
		var others []string
		for _, b := range ccl.Algorithms(plan.Collective) {
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

// Fits returns nil if algorithm a can run the collective of p, and otherwise a *FitError.
// The messages need queues that fit into their memory, or inboxes if the algorithm supports
// inboxes. The tiles of the algorithm, and the bytes that n.Room reserves, must also fit
// into TCM.
func (n *Network) Fits(a *ccl.Algorithm, p *ccl.Plan) error {
	// Usually the maximum number of queues of a PE fits, and the ports need not be counted.
	if !n.onlyQueues(a) && n.fits(a, p, n.queues.MaxPorts) == nil {
		return nil
	}
	return n.fits(a, p, a.Ports(p))
}

// onlyQueues reports whether the messages of algorithm a must use queues, not inboxes.
func (n *Network) onlyQueues(a *ccl.Algorithm) bool { return n.QueuesAlone || a.Inbox == nil }

// fits returns nil if algorithm a can run the collective of p, and otherwise a *FitError.
// Unlike Fits, it does not count the ports: a rank of the algorithm needs at most the given
// number of ports.
func (n *Network) fits(a *ccl.Algorithm, p *ccl.Plan, ports int) error {
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
		if n.onlyQueues(a) {
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

// leastTile is the minimum number of bytes of TCM that a tile occupies.
const leastTile topology.Bytes = 256

// sharers returns how many ranks share the memory of a cube. It counts the ranks of all
// lanes, and returns the number for the cube with the most ranks.
func (n *Network) sharers() (most int) {
	each, count := n.g.Spec().PEsPerCube(), map[int]int{}
	for _, pe := range n.pes {
		count[pe/each]++
		most = max(most, count[pe/each])
	}
	return min(each, most*n.Lanes)
}

// CheckSettings returns an error unless the algorithm of the settings fits on the given
// PEs, one for each rank, with queues q. The algorithm fits if the smallest messages of one
// of its collectives fit. For auto, at least one algorithm must fit. Collectives with
// larger messages may need more memory.
func CheckSettings(s ccl.Settings, g *topology.Graph, pes []int, q topology.IPCQ) error {
	n := &Network{g: g, pes: pes, queues: q, Lanes: 1}
	layout := ccl.NewLayout(g, pes)
	var unfit error
	for _, c := range ccl.Collectives() {
		if c == ccl.SendRecv {
			continue // its messages are not known
		}
		p := &ccl.Plan{Collective: c, Ranks: len(pes), DType: tl.U8, Counts: []int{1}, Layout: layout, RootCube: s.RootCube}
		s.Size(p, q)
		for _, a := range ccl.Algorithms(c) {
			if a.Name != s.Algorithm && (s.Algorithm != ccl.Auto || formula(a) == nil) {
				continue
			}
			err := n.Fits(a, p)
			if err == nil {
				return nil
			}
			if unfit == nil || a.Name == ccl.Usual(c) && c == ccl.AllReduce {
				unfit = err
			}
		}
	}
	if unfit != nil && s.Algorithm == ccl.Auto {
		return fmt.Errorf("auto finds no algorithm for %v that fits: %w", ccl.AllReduce, unfit)
	}
	return unfit
}
