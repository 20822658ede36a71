package cli

import (
	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/probe"
	"github.com/kernbench/kernbench/internal/setup"
)

func probeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Time single transfers and compare them with formulas",
		Long: `Probe times transfers on an otherwise idle machine: copies between host
and device, and reads of near and far HBM slices by PEs. docs/use/probe.md lists
the cases. For each size it prints the closed form, the simulated time, whether
both are equal, the bandwidth of the slowest part of the route, and how much of
this bandwidth was used. For the smallest size it also prints when data passed
each link. Within a SIP, the time of a read starts when the memory begins to
serve it; between SIPs, the travel of the request counts too.

The exit status is 1 if a simulated time differs from its formula.`,
		Example: `  kernbench probe
  kernbench probe --topology torus2x3 --sizes 64KiB,1MiB
  kernbench probe --set sip.ucie.bandwidth=256GB/s --format json
  kernbench probe --fidelity flit`,
		Args: noArgs,
	}
	system := addConfigFlags(cmd, setup.Topology)
	format := formatFlag(cmd)
	fidelity := fidelityFlag(cmd)
	sizes := cmd.Flags().StringSlice("sizes", []string{"4KiB", "16KiB", "64KiB", "256KiB", "1MiB"}, "transfer `SIZES`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o := probe.Options{Fidelity: map[string]fabric.Fidelity{"train": fabric.Train, "flit": fabric.Flit}[*fidelity]}
		c, err := system.load(cmd.Context(), new(file.Uses))
		if err != nil {
			return err
		}
		if o.Sizes, err = probe.ParseSizes(*sizes); err != nil {
			return badInput(err)
		}
		r, err := probe.Run(cmd.Context(), c.System, o)
		if err != nil {
			return err
		}
		err = printResult(cmd, *format, r)
		if err == nil && !r.OK {
			err = wrongResult("a simulated time differs from its formula")
		}
		return err
	}
	return cmd
}
