package topology

import (
	"cmp"

	"github.com/kernbench/kernbench/internal/config"
)

// Spec is a whole system as topology.yaml describes it, after extends and --set have been
// applied. Its fields are the keys of the file; presets/default.yaml gives each key a value
// and the reason for the value.
type Spec struct {
	System    System     `yaml:"system"`
	SIP       SIP        `yaml:"sip"`
	Cube      Cube       `yaml:"cube"`
	PE        PE         `yaml:"pe"`
	Host      Host       `yaml:"host"`
	Overrides []Override `yaml:"overrides,omitempty"`

	origin *config.Doc // where each value was written; nil for a spec created in Go
}

// System is the flits and wires of the whole system, and its devices.
type System struct {
	Flit      Bytes     `yaml:"flit"`       // unit of arbitration on every link
	WireDelay TimePerMM `yaml:"wire_delay"` // delay of the wires of links without a latency
	SIPs      SIPs      `yaml:"sips"`
}

// SIPs is the set of devices and the fabric between them.
type SIPs struct {
	Count    int      `yaml:"count" range:"1..65536"`
	Topology Shape    `yaml:"topology"`
	W        int      `yaml:"w,omitempty" range:"1..65536"` // grid columns, for torus_2d and mesh_2d_no_wrap
	H        int      `yaml:"h,omitempty" range:"1..65536"` // grid rows
	Link     SIPLink  `yaml:"link"`
	Switch   Overhead `yaml:"switch"` // the central switch of topology: switch
}

// Shape is the name of a SIP fabric.
type Shape string

// The SIP fabrics.
const (
	Ring1D         Shape = "ring_1d"
	Torus2D        Shape = "torus_2d"
	Mesh2DNoWrap   Shape = "mesh_2d_no_wrap"
	Line           Shape = "line"
	FullyConnected Shape = "fully_connected"
	Switch         Shape = "switch"
)

// Shapes lists the SIP fabrics in the order of the documentation.
var Shapes = []Shape{Ring1D, Torus2D, Mesh2DNoWrap, Line, FullyConnected, Switch}

// Grid reports whether the shape has two dimensions.
func (s Shape) Grid() bool { return s == Torus2D || s == Mesh2DNoWrap }

// SIPLink is one direction of the connection between two neighbouring SIPs.
type SIPLink struct {
	Bandwidth BytesPerSec `yaml:"bandwidth"`
	Latency   Time        `yaml:"latency"`
	Links     int         `yaml:"links" range:"1..64"` // parallel links per neighbour pair
}

// Overhead is the delay that a component adds to everything that enters it.
type Overhead struct {
	Overhead Time `yaml:"overhead"`
}

// SIP is a device: a mesh of cubes and an IO chiplet.
type SIP struct {
	CubeMesh CubeMesh `yaml:"cube_mesh"`
	UCIe     UCIe     `yaml:"ucie"`
	IO       IO       `yaml:"io"`
}

// CubeMesh is the grid of cubes in a SIP.
type CubeMesh struct {
	W   int         `yaml:"w" range:"1..1024"`
	H   int         `yaml:"h" range:"1..1024"`
	Gap Micrometres `yaml:"gap"` // distance between facing die edges
}

// UCIe is a die-to-die link: its bandwidth in each direction and the delay of a port, which
// applies on leaving one die and again on entering the other.
type UCIe struct {
	Bandwidth BytesPerSec `yaml:"bandwidth"`
	Overhead  Time        `yaml:"overhead"`
	Latency   *Time       `yaml:"latency,omitempty"` // replaces the wire delay
}

// IO is the chiplet that connects a SIP to the host and to other SIPs.
type IO struct {
	PCIe      Overhead    `yaml:"pcie"`      // PCIe endpoint
	CPU       Overhead    `yaml:"cpu"`       // command processor
	Switch    Overhead    `yaml:"switch"`    // fabric switch
	Bandwidth BytesPerSec `yaml:"bandwidth"` // bandwidth between switch, endpoint, CPU and UCIe ports
}

// Cube is a die: a NoC with PEs, SRAM, HBM and a control CPU.
type Cube struct {
	PELayout PELayout `yaml:"pe_layout"`
	NoC      NoC      `yaml:"noc"`
	CPU      CubeCPU  `yaml:"cpu"`
	SRAM     SRAM     `yaml:"sram"`
	HBM      HBM      `yaml:"hbm"`
}

// PELayout is the number of corners of the NoC with PEs and the number of PEs per corner.
type PELayout struct {
	Corners     int `yaml:"corners" oneof:"1 2 4"`
	PEPerCorner int `yaml:"pe_per_corner" range:"1..1024"`
}

// NoC is the mesh of routers inside a cube.
type NoC struct {
	W         int         `yaml:"w" range:"1..256"`
	H         int         `yaml:"h" range:"1..256"`
	Pitch     Micrometres `yaml:"pitch"`
	Bandwidth BytesPerSec `yaml:"bandwidth"`
	Overhead  Time        `yaml:"overhead"`          // overhead of a router
	Latency   *Time       `yaml:"latency,omitempty"` // latency from router to router; replaces the wire delay
}

// Site is a router of the cube's NoC, written r<row>c<column>.
type Site struct{ Row, Col int }

// CubeCPU is the control CPU of a cube.
type CubeCPU struct {
	At       Site `yaml:"at"`
	Overhead Time `yaml:"overhead"`
}

// SRAM is the scratch memory shared by the PEs of a cube.
type SRAM struct {
	At        Site        `yaml:"at"`
	Size      Bytes       `yaml:"size"`
	Bandwidth BytesPerSec `yaml:"bandwidth"`
	Overhead  Time        `yaml:"overhead"`
}

// HBM is the stacked memory of a cube, one slice per PE.
type HBM struct {
	SliceSize        Bytes       `yaml:"slice_size"`
	Bandwidth        BytesPerSec `yaml:"bandwidth"`                         // bandwidth between slice and router, each direction
	Overhead         Time        `yaml:"overhead"`                          // overhead of the controller
	Channels         int         `yaml:"channels" oneof:"1 2 4 8 16 32 64"` // pseudo-channels per slice
	ChannelBandwidth BytesPerSec `yaml:"channel_bandwidth"`
	Burst            Bytes       `yaml:"burst"`
	Turnaround       Time        `yaml:"turnaround"` // time of a channel to switch between reads and writes
}

// PE is a processing element.
type PE struct {
	CPU        CPU        `yaml:"cpu"`
	Scheduler  Overhead   `yaml:"scheduler"`
	DMA        DMA        `yaml:"dma"`
	FetchStore FetchStore `yaml:"fetch_store"`
	GEMM       GEMM       `yaml:"gemm"`
	Math       Math       `yaml:"math"`
	TCM        TCM        `yaml:"tcm"`
	IPCQ       IPCQ       `yaml:"ipcq"`
}

// CPU is the control CPU of a PE, which runs the kernel.
type CPU struct {
	Overhead       Time `yaml:"overhead"`
	Clock          Hz   `yaml:"clock"`
	DispatchCycles int  `yaml:"dispatch_cycles" range:"0..1000000"` // cycles per call of the tile language
}

// DMA is the engine between the NoC and the TCM.
type DMA struct {
	Bandwidth   BytesPerSec `yaml:"bandwidth"` // bandwidth to the router, each direction
	Setup       Time        `yaml:"setup"`     // setup time of a request
	Outstanding int         `yaml:"outstanding" range:"1..65536"`
}

// FetchStore is the unit between the TCM and the register files.
type FetchStore struct {
	Bandwidth BytesPerSec `yaml:"bandwidth"`
}

// GEMM is the matrix engine: an m×k×n MAC array and its default tile.
type GEMM struct {
	Clock      Hz    `yaml:"clock"`
	Array      Dims3 `yaml:"array"`
	Tile       Dims3 `yaml:"tile"`
	FillCycles int   `yaml:"fill_cycles" range:"0..1000000"`
}

// Dims3 is the size of a matrix product: m×k by k×n.
type Dims3 struct {
	M int `yaml:"m" range:"1..1048576"`
	K int `yaml:"k" range:"1..1048576"`
	N int `yaml:"n" range:"1..1048576"`
}

// Math is the vector engine.
type Math struct {
	Clock       Hz         `yaml:"clock"`
	VectorWidth int        `yaml:"vector_width" range:"1..1048576"`
	Cycles      MathCycles `yaml:"cycles"`
}

// MathCycles is the cycles per vector of each group of operations.
type MathCycles struct {
	Simple int `yaml:"simple" range:"0..1000000"` // add, multiply, compare, select, convert
	Div    int `yaml:"div" range:"0..1000000"`
	Sqrt   int `yaml:"sqrt" range:"0..1000000"`
	Exp    int `yaml:"exp" range:"0..1000000"` // exp, log, tanh, sigmoid
}

// TCM is the scratch memory of a PE, with a read and a write port.
type TCM struct {
	Size           Bytes       `yaml:"size"`
	ReadBandwidth  BytesPerSec `yaml:"read_bandwidth"`
	WriteBandwidth BytesPerSec `yaml:"write_bandwidth"`
	Overhead       Time        `yaml:"overhead"`
}

// IPCQ is the set of queues between PEs.
type IPCQ struct {
	MaxPorts     int          `yaml:"max_ports" range:"1..1024"`
	NSlots       int          `yaml:"n_slots" range:"1..65536"`
	SlotSize     Bytes        `yaml:"slot_size"`
	BufferKind   BufferKind   `yaml:"buffer_kind"`
	CreditBytes  Bytes        `yaml:"credit_bytes"`
	Backpressure Backpressure `yaml:"backpressure"`                   // how a sender waits for a credit
	PollCycles   int          `yaml:"poll_cycles" range:"1..1000000"` // CPU cycles between two polls, for backpressure: poll
	HBMOverhead  Time         `yaml:"hbm_overhead"`                   // overhead of a slot in HBM, in addition to the controller's
}

// Override returns a copy of q in which each field of `over` that is not zero replaces the
// same field of q.
func (q IPCQ) Override(over IPCQ) IPCQ {
	q.MaxPorts = cmp.Or(over.MaxPorts, q.MaxPorts)
	q.NSlots = cmp.Or(over.NSlots, q.NSlots)
	q.SlotSize = cmp.Or(over.SlotSize, q.SlotSize)
	q.BufferKind = cmp.Or(over.BufferKind, q.BufferKind)
	q.CreditBytes = cmp.Or(over.CreditBytes, q.CreditBytes)
	q.Backpressure = cmp.Or(over.Backpressure, q.Backpressure)
	q.PollCycles = cmp.Or(over.PollCycles, q.PollCycles)
	q.HBMOverhead = cmp.Or(over.HBMOverhead, q.HBMOverhead)
	return q
}

// BufferKind is the memory of the receiver that holds its queue slots.
type BufferKind string

// The memories for queue slots.
const (
	BufferTCM  BufferKind = "tcm"
	BufferSRAM BufferKind = "sram"
	BufferHBM  BufferKind = "hbm"
)

// BufferKinds lists the memories for queue slots.
var BufferKinds = []BufferKind{BufferTCM, BufferSRAM, BufferHBM}

// Backpressure is the way in which a sender without credit waits for one.
type Backpressure string

// The ways to wait for a credit.
const (
	Sleep Backpressure = "sleep" // sleep until a credit wakes the sender
	Poll  Backpressure = "poll"  // check for a credit every few cycles
)

// Backpressures lists the ways to wait for a credit.
var Backpressures = []Backpressure{Sleep, Poll}

// Host is the host computer of the SIPs.
type Host struct {
	PCIe        PCIe  `yaml:"pcie"`
	LaunchBytes Bytes `yaml:"launch_bytes"` // size of the command that a launch sends to each CPU
}

// PCIe is the link between the host and each SIP.
type PCIe struct {
	Bandwidth BytesPerSec `yaml:"bandwidth"`
	Latency   Time        `yaml:"latency"`
}

// Override is a change of one link, named as in `kernbench topology show --links`: "a->b"
// for one direction, "a<->b" for both.
type Override struct {
	Link      string       `yaml:"link" want:"a link such as sip0.io.switch<->sip1.io.switch"`
	Bandwidth *BytesPerSec `yaml:"bandwidth,omitempty"`
	Latency   *Time        `yaml:"latency,omitempty"`
	Absent    bool         `yaml:"absent,omitempty"`
}

// Numbers formats the new bandwidth and the new latency. It leaves out a value that the
// override does not change.
func (o Override) Numbers() (texts []string) {
	if o.Bandwidth != nil {
		texts = append(texts, Format(*o.Bandwidth))
	}
	if o.Latency != nil {
		texts = append(texts, Format(*o.Latency))
	}
	return texts
}

// PEsPerCube returns the number of PEs, and of HBM slices, in a cube.
func (s *Spec) PEsPerCube() int { return s.Cube.PELayout.Corners * s.Cube.PELayout.PEPerCorner }

// CubesPerSIP returns the number of cubes in a SIP.
func (s *Spec) CubesPerSIP() int { return s.SIP.CubeMesh.W * s.SIP.CubeMesh.H }
