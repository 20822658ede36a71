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

// system is the simulated system that has the devices of a run.
func system(ctx context.Context, preset string, plan *scenario.Plan) (*topology.Graph, error) {
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
		return nil, fmt.Errorf("unknown device %d: the system %s has 0 to %d; choose others with -d, fewer with --nranks, or -p %s, which has as many as needed",
			need-1, preset, n-1, families[0])
	}
	return topology.Compile(spec)
}
