package report

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// Machine is a system in numbers: what `kernbench topology show --format json`
// prints. All SIPs, cubes and PEs are alike but for overrides.
type Machine struct {
	Topology  Used       `json:"topology"`
	System    System     `json:"system"`
	SIP       SIP        `json:"sip"`
	Cube      Cube       `json:"cube"`
	PE        PE         `json:"pe"`
	Totals    Totals     `json:"totals"`
	Overrides []Override `json:"overrides"`
	Links     []Link     `json:"links,omitempty"` // with --links only
}

// Used is the configuration that a result was made with.
type Used struct {
	Source string `json:"source"` // a path or "preset NAME"
	Hash   string `json:"hash"`   // of the effective configuration
}

// String is the line that begins every text report.
func (u Used) String() string { return "# topology: " + u.Source + " (hash " + u.Hash + ")" }

// UsedBy is the configuration of a spec.
func UsedBy(s *topology.Spec) Used { return Used{Source: s.Source(), Hash: s.Hash()} }

// System is the SIPs and how they are joined.
type System struct {
	SIPs        int            `json:"sips"`
	Shape       topology.Shape `json:"shape"`
	W           int            `json:"w"` // columns of SIPs; their number where the shape is no grid
	H           int            `json:"h"`
	Flit        topology.Bytes `json:"flit_bytes"`
	WireNSPerMM json.Number    `json:"wire_ns_per_mm"`
	Link        LinkClass      `json:"sip_link"`
	SwitchNS    *json.Number   `json:"switch_ns"` // overhead of the central switch; null without one
	PCIe        LinkClass      `json:"pcie"`      // host to every SIP
	LaunchBytes topology.Bytes `json:"launch_bytes"`
}

// LinkClass is the numbers that links of one kind share, each way.
type LinkClass struct {
	Bandwidth *topology.BytesPerSec `json:"bytes_per_s"` // null: unlimited
	LatencyNS *json.Number          `json:"latency_ns"`  // null: wire delay over its length
	Count     int                   `json:"count"`       // parallel links per pair
}

// SIP is one device.
type SIP struct {
	CubesW       int                   `json:"cubes_w"`
	CubesH       int                   `json:"cubes_h"`
	UCIe         LinkClass             `json:"ucie"`
	UCIePortNS   json.Number           `json:"ucie_port_ns"`
	IOBandwidth  *topology.BytesPerSec `json:"io_bytes_per_s"`
	IOPCIeNS     json.Number           `json:"io_pcie_ns"`
	IOCPUNS      json.Number           `json:"io_cpu_ns"`
	IOSwitchNS   json.Number           `json:"io_switch_ns"`
	PEs          int                   `json:"pes"`
	HBM          json.Number           `json:"hbm_bytes"`
	HBMBandwidth *json.Number          `json:"hbm_bytes_per_s"` // null: unlimited
}

// Cube is one die.
type Cube struct {
	NoCW     int         `json:"noc_w"`
	NoCH     int         `json:"noc_h"`
	NoC      LinkClass   `json:"noc"`
	RouterNS json.Number `json:"router_ns"`
	PitchUM  int64       `json:"pitch_um"`
	Corners  []Corner    `json:"corners"`
	CPU      Attached    `json:"cpu"`
	SRAM     Attached    `json:"sram"`
	HBM      HBM         `json:"hbm"`
}

// Corner is a block of PEs and the routers they sit on.
type Corner struct {
	Name string   `json:"name"` // NW, NE, SW or SE; W and E of two, "all" of one
	PEs  []int    `json:"pes"`
	At   []string `json:"at"`
}

// Attached is a component that hangs on a router of the NoC.
type Attached struct {
	At         string                `json:"at"`
	Size       topology.Bytes        `json:"bytes,omitempty"`
	Bandwidth  *topology.BytesPerSec `json:"bytes_per_s"`
	OverheadNS json.Number           `json:"overhead_ns"`
}

// HBM is the memory slice of a PE.
type HBM struct {
	Slice            topology.Bytes        `json:"slice_bytes"`
	Bandwidth        *topology.BytesPerSec `json:"bytes_per_s"` // slice to router
	Channels         int                   `json:"channels"`
	ChannelBandwidth *topology.BytesPerSec `json:"channel_bytes_per_s"`
	Burst            topology.Bytes        `json:"burst_bytes"`
	TurnaroundNS     json.Number           `json:"turnaround_ns"`
	OverheadNS       json.Number           `json:"overhead_ns"`
}

// PE is one processing element.
type PE struct {
	CPUHz           topology.Hz           `json:"cpu_hz"`
	CPUNS           json.Number           `json:"cpu_ns"`
	DispatchCycles  int                   `json:"dispatch_cycles"`
	SchedulerNS     json.Number           `json:"scheduler_ns"`
	DMABandwidth    *topology.BytesPerSec `json:"dma_bytes_per_s"`
	DMASetupNS      json.Number           `json:"dma_setup_ns"`
	DMAOutstanding  int                   `json:"dma_outstanding"`
	FetchStore      *topology.BytesPerSec `json:"fetch_store_bytes_per_s"`
	GEMMHz          topology.Hz           `json:"gemm_hz"`
	GEMMArray       [3]int                `json:"gemm_array_mkn"`
	GEMMTile        [3]int                `json:"gemm_tile_mkn"`
	GEMMFillCycles  int                   `json:"gemm_fill_cycles"`
	GEMMPeak        json.Number           `json:"gemm_flop_per_s"` // 2·m·k·n·clock
	MathHz          topology.Hz           `json:"math_hz"`
	MathLanes       int                   `json:"math_lanes"`
	MathCycles      map[string]int        `json:"math_cycles"`
	MathPeak        *json.Number          `json:"math_op_per_s"` // of simple operations; null: unlimited
	TCM             topology.Bytes        `json:"tcm_bytes"`
	TCMRead         *topology.BytesPerSec `json:"tcm_read_bytes_per_s"`
	TCMWrite        *topology.BytesPerSec `json:"tcm_write_bytes_per_s"`
	TCMNS           json.Number           `json:"tcm_ns"`
	IPCQPorts       int                   `json:"ipcq_ports"`
	IPCQSlots       int                   `json:"ipcq_slots"`
	IPCQSlot        topology.Bytes        `json:"ipcq_slot_bytes"`
	IPCQBuffer      topology.BufferKind   `json:"ipcq_buffer"`
	IPCQRings       json.Number           `json:"ipcq_rings_bytes"` // all ports in use
	IPCQCredit      topology.Bytes        `json:"ipcq_credit_bytes"`
	IPCQHBMOverhead json.Number           `json:"ipcq_hbm_ns"`
}

// Totals is the sums over the system.
type Totals struct {
	Cubes        int          `json:"cubes"`
	PEs          int          `json:"pes"`
	GEMMPeak     json.Number  `json:"gemm_flop_per_s"`
	HBM          json.Number  `json:"hbm_bytes"`
	HBMBandwidth *json.Number `json:"hbm_bytes_per_s"` // null: unlimited
	SRAM         json.Number  `json:"sram_bytes"`
	Nodes        int          `json:"nodes"`
	Links        int          `json:"links"` // directed
}

// Override is a link that differs from its kind.
type Override struct {
	Link      string                `json:"link"`
	Unlimited bool                  `json:"unlimited,omitempty"`
	Bandwidth *topology.BytesPerSec `json:"bytes_per_s,omitempty"` // absent key: unchanged, or unlimited
	LatencyNS *json.Number          `json:"latency_ns,omitempty"`  // absent key: unchanged
	Absent    bool                  `json:"absent,omitempty"`
}

// Link is one direction of a connection.
type Link struct {
	Name       string                `json:"name"`
	Bandwidth  *topology.BytesPerSec `json:"bytes_per_s"`
	LatencyNS  json.Number           `json:"latency_ns"`
	OverheadNS json.Number           `json:"overhead_ns"` // of the node entered
}

// ns is a time as an exact decimal.
func ns(t topology.Time) json.Number { return json.Number(strings.TrimSuffix(t.String(), "ns")) }

func nsIf(t *topology.Time) *json.Number {
	if t == nil {
		return nil
	}
	n := ns(*t)
	return &n
}

// finite is a bandwidth, nil when unlimited.
func finite(bw topology.BytesPerSec) *topology.BytesPerSec {
	if bw == topology.Unlimited {
		return nil
	}
	return &bw
}

// product is exact, whatever the size of a system.
func product(factors ...int64) json.Number {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, big.NewInt(f))
	}
	return json.Number(p.String())
}
