package probe

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// probeCase is a kind of transfer. PE 0 of cube 0 of SIP 0, or the host, accesses the HBM
// slice of a PE.
type probeCase struct {
	name string
	what string // description
	// slice returns the PE whose HBM slice is accessed. ok is false if the machine has no
	// such PE.
	slice func(m *machine.Machine) (id machine.PEID, ok bool)
	host  bool      // the host accesses the slice, not a PE
	op    memory.Op // on the slice
	all   bool      // all PEs of the cube read their own slices at the same time
}

// own returns PE 0, for cases that access the HBM slice of PE 0 itself.
func own(*machine.Machine) (machine.PEID, bool) { return 0, true }

var cases = []probeCase{
	{name: "host_to_device", what: "host writes to HBM", slice: own, host: true, op: memory.Write},
	{name: "device_to_host", what: "host reads from HBM", slice: own, host: true},
	{name: "pe_local", what: "PE reads its own HBM slice", slice: own},
	{name: "pe_same_half", what: "nearest other slice in the same half of the cube", slice: nearest(true)},
	{name: "pe_cross_half", what: "nearest slice in the other half", slice: nearest(false)},
	{name: "pe_cross_cube", what: "same slice of the neighbouring cube", slice: neighbourCube},
	{name: "pe_cross_sip", what: "same slice of the neighbouring SIP", slice: neighbourSIP},
	{name: "pe_local_together", what: "every PE of the cube reads its own slice at once", slice: own, all: true},
}

// nearest returns a function that searches cube 0 for the PE, other than PE 0, that is the
// fewest links away from PE 0. It searches the half of the cube in which PE 0 is, or the
// other half if `same` is false. The function reports whether there is such a PE.
func nearest(same bool) func(m *machine.Machine) (machine.PEID, bool) {
	return func(m *machine.Machine) (best machine.PEID, ok bool) {
		g := m.Graph
		least := 0
		for pe := 1; pe < g.Spec().PEsPerCube(); pe++ {
			if (g.Half(pe) == g.Half(0)) != same {
				continue
			}
			path, err := g.Route(nil, g.HBM(0, 0, pe), g.PENode(0, 0, 0, topology.KindTCM))
			if err == nil && (!ok || len(path) < least) {
				best, least, ok = m.ID(0, 0, pe), len(path), true
			}
		}
		return best, ok
	}
}

// neighbourCube returns PE 0 of a cube next to cube 0, and reports whether there is such a
// cube.
func neighbourCube(m *machine.Machine) (machine.PEID, bool) {
	mesh := m.Graph.Spec().SIP.CubeMesh
	if mesh.W > 1 {
		return m.ID(0, 1, 0), true
	}
	return m.ID(0, min(mesh.W, mesh.W*mesh.H-1), 0), mesh.H > 1
}

// neighbourSIP returns PE 0 of a SIP next to SIP 0, and reports whether there is such a
// SIP.
func neighbourSIP(m *machine.Machine) (machine.PEID, bool) {
	near := m.Graph.SIPNeighbors(0)
	if len(near) == 0 {
		return 0, false
	}
	return m.ID(near[0], 0, 0), true
}

// transfer is a case on a machine.
type transfer struct {
	from, to topology.NodeID
	path     []topology.LinkID
	op       memory.Op            // on HBM
	setup    simtime.Time         // of the DMA engine; 0 for the host
	request  []topology.LinkID    // the way of the request, if a PE reads from another SIP
	streams  int                  // number of simultaneous transfers
	begin    func(done sim.Event) // starts the transfers; each calls done at its end
}

// prepare allocates the memory that the case needs on machine m for transfers of n bytes,
// and returns the description of the transfers. `ok` is false if the machine has no PE for
// the case.
func (c probeCase) prepare(m *machine.Machine, n memory.Bytes) (t transfer, ok bool, err error) {
	far, ok := c.slice(m)
	if !ok {
		return t, false, nil
	}
	slice := m.PE(far).Memory(topology.KindHBM)
	addr, err := m.Memory(slice).Allocator.Alloc(n, 4096)
	if err != nil {
		return t, true, err
	}
	region := memory.Contiguous(addr, n)
	t.op, t.from, t.to, t.streams = c.op, m.Node(slice), m.Graph.Host(), 1
	if c.op == memory.Write {
		t.from, t.to = t.to, t.from
	}
	t.begin = func(done sim.Event) { m.HostCopy(c.op, slice, region, done) }
	if !c.host {
		err = c.prepareLoad(m, &t, slice, region)
	}
	if err == nil {
		t.path, err = m.Graph.Route(nil, t.from, t.to)
	}
	return t, true, err
}

// prepareLoad completes t for a case in which PEs read from HBM into TCM. PE 0 reads
// `region` of the memory `slice`. If c.all is set, every PE of the cube reads the same
// region of its own slice.
func (c probeCase) prepareLoad(m *machine.Machine, t *transfer, slice memory.ID, region memory.Region) error {
	pe := m.PE(0)
	tcm := pe.Memory(topology.KindTCM)
	to, err := m.Memory(tcm).Allocator.Alloc(region.Bytes(), 4096)
	if err != nil {
		return err
	}
	t.to, t.setup = m.Node(tcm), m.Graph.Spec().PE.DMA.Setup
	if slice.SIP != tcm.SIP {
		if t.request, err = m.Graph.Route(nil, t.to, t.from); err != nil {
			return err
		}
	}
	if c.all {
		t.streams = m.Graph.Spec().PEsPerCube()
	}
	t.begin = func(done sim.Event) {
		for id := range machine.PEID(t.streams) {
			reader, from := m.PE(id), slice
			if c.all {
				from = reader.Memory(topology.KindHBM)
			}
			r := reader.Request(memory.Read, from, region, to)
			r.Done = done
			reader.DMA.Submit(&r)
		}
	}
	return nil
}
