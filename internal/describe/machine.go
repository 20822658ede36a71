package describe

import (
	"encoding/json"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// Machine is a system in numbers: what `kernbench topology show --format json`
// prints, and [WriteMachine] with its links. All SIPs, cubes and PEs are alike
// but for overrides.
type Machine struct {
	Version   string      `json:"version"` // of kernbench
	Topology  config.Used `json:"topology"`
	System    Section     `json:"system"`
	SIP       Section     `json:"sip"`
	Cube      Section     `json:"cube"`
	PE        Section     `json:"pe"`
	Host      Section     `json:"host"`
	Overrides Section     `json:"overrides"`
	Corners   []Corner    `json:"corners"`
	PerPE     PerPE       `json:"per_pe"`
	PerSIP    PerSIP      `json:"per_sip"`
	Totals    Totals      `json:"totals"`

	spec *topology.Spec
}

// Corner is a block of PEs and the routers they sit on.
type Corner struct {
	Name string   `json:"name"` // NW, NE, SW or SE; W and E of two, "all" of one
	PEs  []int    `json:"pes"`
	At   []string `json:"at"`
}

// PerPE is what the numbers of a PE come to.
type PerPE struct {
	GEMM  *json.Number `json:"gemm_tflops"` // 2·m·k·n·clock; null: in no time
	Math  *json.Number `json:"math_gops"`   // of simple operations; null: in no time
	Rings json.Number  `json:"ipcq_bytes"`  // of queue slots, all ports in use
}

// PerSIP is the sums over a device.
type PerSIP struct {
	PEs          int          `json:"pes"`
	HBM          json.Number  `json:"hbm_bytes"`
	HBMBandwidth *json.Number `json:"hbm_gbs"` // null: unlimited
}

// Totals is the sums over the system.
type Totals struct {
	Cubes        int          `json:"cubes"`
	PEs          int          `json:"pes"`
	GEMM         *json.Number `json:"gemm_tflops"` // null: in no time
	HBM          json.Number  `json:"hbm_bytes"`
	HBMBandwidth *json.Number `json:"hbm_gbs"` // null: unlimited
	SRAM         json.Number  `json:"sram_bytes"`
	Nodes        int          `json:"nodes"`
	Links        int          `json:"links"` // directed
}
