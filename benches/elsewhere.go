package benches

import (
	"fmt"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// elsewhere runs a part of a bench on a machine of a system of its own, and adds what
// that found out to the report: times, checks and races. A part that is the whole bench
// runs on the given machine if that is of this system.
func elsewhere(ctx *torch.Context, g *topology.Graph, whole bool, run func(on *torch.Context) error) error {
	if whole && g == ctx.Topology() {
		return run(ctx)
	}
	const alone = "%s is of one machine, and this bench makes others: choose parameters for one row alone, and a system with as many SIPs as it has ranks"
	switch {
	case ctx.SavesLog():
		return &bench.ParamError{Name: "log", Err: fmt.Errorf(alone, "an op log")}
	case ctx.Traced():
		return &bench.ParamError{Name: "trace", Err: fmt.Errorf(alone, "a trace")}
	}
	on, err := ctx.Another(g)
	if err != nil {
		return err
	}
	defer on.Close()
	if err := run(on); err != nil {
		return err
	}
	if on.LooksForRaces() {
		races, err := on.Races()
		if err != nil {
			return err
		}
		for _, r := range races {
			ctx.AddRace(r)
		}
	}
	ctx.Report.Crit = max(ctx.Report.Crit, on.Report.Crit)
	ctx.Report.Checks = append(ctx.Report.Checks, on.Report.Checks...)
	ctx.Report.Launches = append(ctx.Report.Launches, on.Report.Launches...)
	if on.Collective.Name != "" {
		ctx.Collective = on.Collective
	}
	return nil
}
