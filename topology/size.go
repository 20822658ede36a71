package topology

import (
	"fmt"
	"unsafe"

	"github.com/kernbench/kernbench/internal/host"
)

// affordable refuses a system whose graph this computer has no room for.
func (s *Spec) affordable() error {
	if err := host.Check(s.graphBytes()); err != nil {
		return fmt.Errorf("a system of %d SIPs with %d×%d cubes of %d×%d routers: %w: make it smaller",
			s.System.SIPs.Count, s.SIP.CubeMesh.W, s.SIP.CubeMesh.H, s.Cube.NoC.W, s.Cube.NoC.H, err)
	}
	return nil
}

// graphBytes estimates the memory of the graph: an entry for each component of SIP 0, and
// one for each link of all SIPs. While a list of SIP 0 grows there are two of it.
func (s *Spec) graphBytes() uint64 {
	const (
		linksPerRouter = 4
		linksPerPE     = 2*8 + 7 // to and from its router and between its units, and of commands
		others         = 6       // of a cube: CPU, SRAM and ports
		linksPerOther  = 4
	)
	pes, routers := uint64(s.PEsPerCube()), host.Product(s.Cube.NoC.W, s.Cube.NoC.H)
	cubes := host.Product(s.SIP.CubeMesh.W, s.SIP.CubeMesh.H)
	nodes := routers + pes*uint64(1+unitsPerPE) + others
	links := linksPerRouter*routers + linksPerPE*pes + linksPerOther*others
	node, link, first := uint64(unsafe.Sizeof(Node{})), uint64(unsafe.Sizeof(Link{})), uint64(unsafe.Sizeof(LinkID(0)))
	return host.Product(cubes, 2*(nodes*node+links*link)) +
		host.Product(uint64(s.System.SIPs.Count), cubes, nodes*first+links*link)
}
