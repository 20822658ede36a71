package runner

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// platforms is the names that -p takes besides presets and files, which are common elsewhere
// for kinds of machines. A sim stands for a preset, for convenience: the preset has no numbers
// of that machine. Silicon is what kernbench does not run on.
var platforms = []struct{ sim, silicon, preset string }{
	{"a2a3sim", "a2a3", families[0]},
	{"a5sim", "a5", families[1]},
}

// ResolvePlatform replaces the name of a platform by the preset that it stands for, and
// chooses the simulated machine if there is no backend yet. A platform that a run cannot have
// is an error, and so is a name that is nearly one. Other presets are left as they are.
func (o *Options) ResolvePlatform() error {
	var sims, silicon []string
	for _, p := range platforms {
		switch {
		case o.Preset == p.silicon:
			return fmt.Errorf("-p %s: this is silicon, which kernbench does not run on: write -p %s, which stands for the preset %s of the simulated machine, or run real processes with --backend %s and without -p",
				p.silicon, p.sim, p.preset, SHM)
		case o.Preset == p.sim && o.Backend != "" && o.Backend != Sim:
			return fmt.Errorf("-p %s stands for the preset %s of the simulated machine, and --backend %s runs on this computer: write --backend %s, or delete one of the two",
				p.sim, p.preset, o.Backend, Sim)
		case o.Preset == p.sim:
			o.Preset, o.Backend = p.preset, Sim
			return nil
		}
		sims, silicon = append(sims, p.sim), append(silicon, p.silicon)
	}
	names := append(sims, silicon...)
	_, err := os.Stat(o.Preset)
	if near := config.DidYouMean(o.Preset, names); near != "" && err != nil && !slices.Contains(topology.Presets(), o.Preset) {
		return fmt.Errorf("-p %s: no file, preset or platform; platforms: %s%s", o.Preset, strings.Join(names, ", "), near)
	}
	return nil
}
