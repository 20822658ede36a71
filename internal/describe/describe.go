package describe

import (
	"encoding/json"

	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/topology"
)

// Describe computes the numbers of a compiled system, such as sizes, bandwidths and peak
// rates. Links are not included.
func Describe(g *topology.Graph) Machine {
	s := g.Spec()
	pes, sips := int64(s.CubesPerSIP()*s.PEsPerCube()), int64(s.System.SIPs.Count)
	return Machine{
		Version: version.Version, Topology: topology.OriginOf(s),
		System: Section{s.System}, SIP: Section{s.SIP}, Cube: Section{s.Cube}, PE: Section{s.PE}, Host: Section{s.Host},
		Overrides: Section{s.Overrides},
		Corners:   corners(g),
		PerPE:     PerPE{GEMM: gemmPeak(s.PE.GEMM, 1), Math: mathPeak(s.PE.Math), Rings: json.Number(product(int64(s.PE.IPCQ.RingBytes())))},
		PerSIP:    PerSIP{PEs: int(pes), HBM: json.Number(product(pes, int64(s.Cube.HBM.SliceSize))), HBMBandwidth: hbmBandwidth(s.Cube.HBM, pes)},
		Totals: Totals{
			Cubes:        s.System.SIPs.Count * s.CubesPerSIP(),
			PEs:          int(sips * pes),
			GEMM:         gemmPeak(s.PE.GEMM, sips*pes),
			HBM:          json.Number(product(sips, pes, int64(s.Cube.HBM.SliceSize))),
			HBMBandwidth: hbmBandwidth(s.Cube.HBM, sips*pes),
			SRAM:         json.Number(product(sips, int64(s.CubesPerSIP()), int64(s.Cube.SRAM.Size))),
			Nodes:        g.NumNodes(), Links: g.NumLinks(),
		},
		spec: s,
	}
}

// cornerNames holds the names of the corners, by the number of corners.
var cornerNames = map[int][]string{1: {"all"}, 2: {"W", "E"}, 4: {"NW", "NE", "SW", "SE"}}

// corners returns the corners of a cube, each with its PEs and the routers that the
// compiled system attached the PEs to.
func corners(g *topology.Graph) []Corner {
	layout := g.Spec().Cube.PELayout
	var blocks []Corner
	for i, name := range cornerNames[layout.Corners] {
		b := Corner{Name: name}
		for k := range layout.PEPerCorner {
			pe := i*layout.PEPerCorner + k
			b.PEs = append(b.PEs, pe)
			router, w := int(g.Node(g.PERouter(0, 0, pe)).Index), g.Spec().Cube.NoC.W
			b.At = append(b.At, topology.Site{Row: router / w, Col: router % w}.String())
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// hbmBandwidth returns the total bandwidth of the HBM slices of n PEs, in GB/s. Either the
// channels or the link to the router limit a slice. It returns nil if the bandwidth is
// unlimited.
func hbmBandwidth(h topology.HBM, n int64) *json.Number {
	slice, channels := h.Bandwidth, h.ChannelBandwidth*topology.BytesPerSec(h.Channels)
	if slice == topology.Unlimited || channels != topology.Unlimited && channels < slice {
		slice = channels
	}
	if slice == topology.Unlimited {
		return nil
	}
	return new(decimal(product(int64(slice), n), 9))
}

// gemmPeak returns the peak rate of n matrix engines in TFLOP/s, or nil if they take no
// time. The number is exact, while GEMM.Peak times n may be rounded.
func gemmPeak(e topology.GEMM, n int64) *json.Number {
	if _, ok := e.Peak(); !ok {
		return nil
	}
	return new(decimal(product(n, 2, int64(e.Array.M), int64(e.Array.K), int64(e.Array.N), int64(e.Clock)), 12))
}

// mathPeak returns the rate of simple operations of a vector engine in Gop/s, or nil if
// they take no time.
func mathPeak(e topology.Math) *json.Number {
	if _, ok := e.Peak(); !ok {
		return nil
	}
	// Rounded down to whole operations per second.
	return new(decimal(product(int64(e.VectorWidth)*int64(e.Clock)/int64(e.Cycles.Simple)), 9))
}

// Machine is the numbers of a system. Its JSON is the output of `kernbench topology show
// --format json`; [WriteMachine] also writes the links. All SIPs, cubes and PEs are equal
// except for overrides.
type Machine struct {
	Version   string          `json:"version"` // version of kernbench
	Topology  topology.Origin `json:"topology"`
	System    Section         `json:"system"`
	SIP       Section         `json:"sip"`
	Cube      Section         `json:"cube"`
	PE        Section         `json:"pe"`
	Host      Section         `json:"host"`
	Overrides Section         `json:"overrides"`
	Corners   []Corner        `json:"corners"`
	PerPE     PerPE           `json:"per_pe"`
	PerSIP    PerSIP          `json:"per_sip"`
	Totals    Totals          `json:"totals"`

	spec *topology.Spec
}

// Corner is a group of PEs and the routers that they are attached to.
type Corner struct {
	Name string   `json:"name"` // NW, NE, SW or SE; W or E if there are two corners; "all" if there is one
	PEs  []int    `json:"pes"`
	At   []string `json:"at"`
}

// PerPE is the numbers that follow from the configuration of a PE.
type PerPE struct {
	GEMM  *json.Number `json:"gemm_tflops"` // 2·m·k·n·clock; null: takes no time
	Math  *json.Number `json:"math_gops"`   // rate of simple operations; null: they take no time
	Rings json.Number  `json:"ipcq_bytes"`  // bytes of queue slots with all ports in use
}

// PerSIP is the sums over a SIP.
type PerSIP struct {
	PEs          int          `json:"pes"`
	HBM          json.Number  `json:"hbm_bytes"`
	HBMBandwidth *json.Number `json:"hbm_gbs"` // null: unlimited
}

// Totals is the sums over the system.
type Totals struct {
	Cubes        int          `json:"cubes"`
	PEs          int          `json:"pes"`
	GEMM         *json.Number `json:"gemm_tflops"` // null: takes no time
	HBM          json.Number  `json:"hbm_bytes"`
	HBMBandwidth *json.Number `json:"hbm_gbs"` // null: unlimited
	SRAM         json.Number  `json:"sram_bytes"`
	Nodes        int          `json:"nodes"`
	Links        int          `json:"links"` // directed
}
