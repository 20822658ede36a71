package runner

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// Platform is a name of -p that is common elsewhere for a kind of machine. Names that end in
// "sim" stand for a preset, for convenience: the preset has no numbers of that machine. The
// others are silicon, which kernbench does not run on.
type Platform struct {
	Name   string
	Preset string // that the name stands for; "" of silicon
	Sim    string // of silicon: the platform to use instead
}

// Platforms is the names that -p takes besides presets and files.
var Platforms = []Platform{
	{Name: "a2a3sim", Preset: families[0]},
	{Name: "a5sim", Preset: families[1]},
	{Name: "a2a3", Sim: "a2a3sim"},
	{Name: "a5", Sim: "a5sim"},
}

// ResolvePlatform replaces the name of a platform by the preset that it stands for, and
// chooses the simulated machine if there is no backend yet. A platform that a run cannot have
// is an error, and so is a name that is nearly one. Other presets are left as they are.
func (o *Options) ResolvePlatform() error {
	var names []string
	for _, p := range Platforms {
		names = append(names, p.Name)
	}
	find := func(name string) int { return slices.Index(names, name) }
	i := find(o.Preset)
	if i < 0 {
		_, err := os.Stat(o.Preset)
		if near := config.DidYouMean(o.Preset, names); near != "" && err != nil && !slices.Contains(topology.Presets(), o.Preset) {
			return fmt.Errorf("-p %s: no file, preset or platform; platforms: %s%s", o.Preset, strings.Join(names, ", "), near)
		}
		return nil
	}
	p := Platforms[i]
	if p.Preset == "" {
		return fmt.Errorf("-p %s: this is silicon, which kernbench does not run on: write -p %s, which stands for the preset %s of the simulated machine, or run real processes with --backend %s and without -p",
			p.Name, p.Sim, Platforms[find(p.Sim)].Preset, SHM)
	}
	if o.Backend != "" && o.Backend != Sim {
		return fmt.Errorf("-p %s stands for the preset %s of the simulated machine, and --backend %s runs on this computer: write --backend %s, or delete one of the two",
			p.Name, p.Preset, o.Backend, Sim)
	}
	o.Preset, o.Backend = p.Preset, Sim
	return nil
}
