package trace

import "github.com/kernbench/kernbench/internal/sim"

// About is what else there is to know of a trace, behind its events.
type About struct {
	Tool     string    `json:"tool"`
	Version  string    `json:"version"`
	Topology string    `json:"topology"` // hash
	Program  string    `json:"bench"`    // or the collective
	Links    []LinkUse `json:"links"`    // that carried anything
}

// LinkUse is what a link did in all of the run.
type LinkUse struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Bytes  int64    `json:"bytes"`
	Busy   sim.Time `json:"busy_ns"`
	Queued sim.Time `json:"queued_ns"` // how long a flit waited in front of it, on average
}
