package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/topology"
)

// families is the presets that are a kind of system of any size: chiplets, and plain
// links. Other presets and files are one system each.
var families = []string{"default", "alpha_beta"}

// system returns the simulated system that has the devices of a run. others says how to
// choose other devices.
func system(ctx context.Context, preset string, plan *scenario.Plan, others string) (*topology.Graph, error) {
	if preset == "" {
		preset = families[0]
	}
	need := slices.Max(plan.Devices) + 1
	var sets []string
	if slices.Contains(families, preset) {
		sets = append(sets, fmt.Sprintf("system.sips.count=%d", need))
	}
	spec, err := topology.LoadContext(ctx, preset, sets...)
	if err != nil {
		return nil, err
	}
	if n := spec.System.SIPs.Count; need > n {
		return nil, fmt.Errorf("unknown device %d: the system %s has 0 to %d; %s, or choose -p %s, which has as many as needed",
			need-1, preset, n-1, others, families[0])
	}
	return topology.Compile(spec)
}
