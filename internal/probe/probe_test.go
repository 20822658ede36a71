package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

var sizes = []topology.Bytes{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}

// probe runs a probe of a preset, changed by --set arguments, at the given fidelity.
func probe(t *testing.T, fid fabric.Fidelity, preset string, sets ...string) *Report {
	t.Helper()
	spec, err := topology.Load(t.Context(), preset, sets...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), g, Options{Fidelity: fid, Sizes: sizes})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// times returns the simulated times of the report by case, in the order of sizes.
func (r *Report) times() map[string][]simtime.Time {
	times := map[string][]simtime.Time{}
	for _, row := range r.Rows {
		times[row.Case] = append(times[row.Case], row.SimulatedNS)
	}
	return times
}

// TestDefaultSystem checks on the default system that all times equal their formulas, that
// more distant and larger transfers take longer, and that large local transfers use more
// than 90 % of the bandwidth. Reads of the host must take at least as long as its writes.
func TestDefaultSystem(t *testing.T) {
	for _, fid := range []fabric.Fidelity{fabric.Train, fabric.Flit} {
		r := probe(t, fid, "default")
		if !r.OK || len(r.Skipped) != 0 || len(r.Rows) != len(cases)*len(sizes) {
			t.Errorf("%s: ok %v, skipped %v, %d rows", r.Fidelity, r.OK, r.Skipped, len(r.Rows))
		}
		for _, row := range r.Rows {
			if row.Match == nil || !*row.Match {
				t.Errorf("%s: %s %v: formula %s, simulated %v", r.Fidelity, row.Case, row.Bytes, optional(row.FormulaNS, decimal), row.SimulatedNS)
			}
			if row.Case == "pe_local" && row.Bytes >= 64<<10 && *row.Utilization <= 0.9 {
				t.Errorf("%s: local utilization at %v is %v, want above 0.9", r.Fidelity, row.Bytes, *row.Utilization)
			}
		}
		times := r.times()
		for i, n := range sizes {
			near := simtime.Time(0)
			for _, c := range []string{"pe_local", "pe_same_half", "pe_cross_half", "pe_cross_cube", "pe_cross_sip"} {
				if times[c][i] <= near {
					t.Errorf("%s: %v: %s takes %v, no longer than the nearer one's %v", r.Fidelity, n, c, times[c][i], near)
				}
				near = times[c][i]
			}
			if up, down := times["device_to_host"][i], times["host_to_device"][i]; up < down {
				t.Errorf("%s: %v: device to host %v, host to device %v", r.Fidelity, n, up, down)
			}
			for c := range times {
				if i > 0 && times[c][i] <= times[c][i-1] {
					t.Errorf("%s: %s: %v takes %v, no longer than half of it", r.Fidelity, c, n, times[c][i])
				}
			}
		}
	}
}

// TestExactTimes checks two times against values computed by hand. A local read of 4 KiB
// takes 4 ns for set-up, 8 ns for the first burst, 16 ns for 16 flits, 1 ns and 0.5 ns for
// one flit on each of the other two links, 1 ns for the router, and 0.01 ns/mm for three
// wires of 0.75, 0.75 and 0.187 mm.
func TestExactTimes(t *testing.T) {
	times := probe(t, fabric.Train, "default").times()
	const fs = simtime.Femtosecond
	if got, want := times["pe_local"][0], 30_516_870*fs; got != want {
		t.Errorf("local 4 KiB: %v, want %v", got, want)
	}
	if got, want := times["pe_same_half"][0]-times["pe_local"][0], 2_030_000*fs; got != want { // one more flit, one more router, 3 mm more wire
		t.Errorf("same half adds %v, want %v", got, want)
	}
}

// TestEveryPresetMatchesItsFormula checks that all times equal their formulas, on all
// presets and on variants of the default system.
func TestEveryPresetMatchesItsFormula(t *testing.T) {
	check := func(name string, r *Report) {
		if !r.OK || r.Compared != len(r.Rows) {
			t.Errorf("%s: ok %v, %d of %d compared", name, r.OK, r.Compared, len(r.Rows))
		}
	}
	for _, preset := range topology.Presets() {
		check(preset, probe(t, fabric.Train, preset))
	}
	for _, sets := range [][]string{
		{"cube.hbm.channels=4"}, {"cube.hbm.channels=16"}, {"cube.hbm.turnaround=10ns"}, {"cube.hbm.bandwidth=unlimited"},
		{"sip.ucie.bandwidth=17GB/s"}, {"host.pcie.bandwidth=unlimited"},
		{"system.flit=64B", "cube.hbm.burst=64B"}, {"system.flit=512B", "cube.hbm.burst=512B"},
	} {
		check(strings.Join(sets, " "), probe(t, fabric.Train, "default", sets...))
	}
}

// TestRowsWithoutFormulaSayWhy checks that a row without a formula gives the reason.
func TestRowsWithoutFormulaSayWhy(t *testing.T) {
	r := probe(t, fabric.Train, "default", "system.flit=512B")
	if want := "bursts of 256B are not flits of 512B"; !r.OK || r.Compared != 0 || r.Rows[0].NoFormula != want {
		t.Errorf("ok %v, compared %d, why %q, want %q", r.OK, r.Compared, r.Rows[0].NoFormula, want)
	}
	if r := probe(t, fabric.Train, "default"); r.Compared != len(r.Rows) {
		t.Errorf("compared %d of %d", r.Compared, len(r.Rows))
	}
}

// TestSizesThatDoNotFitAreSkipped checks that sizes that do not fit into TCM are skipped.
func TestSizesThatDoNotFitAreSkipped(t *testing.T) {
	r := probe(t, fabric.Train, "default", "pe.tcm.size=512KiB")
	if len(r.Skipped) != 6 || r.Skipped[0].Bytes != 1<<20 || !strings.Contains(r.Skipped[0].Why, "sip0.cube0.pe0.tcm") {
		t.Errorf("skipped %+v, want the six cases that need a TCM, at 1 MiB", r.Skipped)
	}
}

// TestSmallSystemsSkipWhatTheyLack checks that cases are skipped if the system has no PE
// for them.
func TestSmallSystemsSkipWhatTheyLack(t *testing.T) {
	r := probe(t, fabric.Train, "alpha_beta", "system.sips.count=1")
	var got []string
	for _, s := range r.Skipped {
		got = append(got, s.Case)
	}
	if want := "pe_same_half pe_cross_half pe_cross_cube pe_cross_sip"; strings.Join(got, " ") != want {
		t.Errorf("skipped %v, want %s", got, want)
	}
}

// TestHopsAreInOrder checks that the times of the hops of a transfer are consistent with
// each other and with the time of the transfer.
func TestHopsAreInOrder(t *testing.T) {
	r := probe(t, fabric.Train, "default")
	for _, row := range r.Rows {
		if first := strings.Split(row.Hops[0].Link, "->")[0]; first != row.From {
			t.Errorf("%s: first link leaves %s, not %s", row.Case, first, row.From)
		}
		for i, h := range row.Hops {
			if h.TailNS < h.HeadNS+h.FlitNS {
				t.Errorf("%s: hop %d leaves at %v, arrives at %v", row.Case, i, h.TailNS, h.HeadNS)
			}
			if i > 0 && h.HeadNS < row.Hops[i-1].HeadNS+row.Hops[i-1].FlitNS+row.Hops[i-1].LatencyNS+row.Hops[i-1].OverheadNS {
				t.Errorf("%s: hop %d arrives at %v, too early", row.Case, i, h.HeadNS)
			}
		}
		last := row.Hops[len(row.Hops)-1]
		end := last.TailNS + last.LatencyNS + last.OverheadNS
		if row.From != "host" && end != row.SimulatedNS { // a write ends later, in the HBM channels
			t.Errorf("%s: last hop ends at %v, the transfer at %v", row.Case, end, row.SimulatedNS)
		}
	}
}

// TestJSONIsTheReport checks the keys and the exact times in the report's JSON.
func TestJSONIsTheReport(t *testing.T) {
	r := probe(t, fabric.Train, "default")
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(out, &fields); err != nil {
		t.Fatal(err)
	}
	row := fields["rows"].([]any)[2*len(sizes)].(map[string]any)
	if row["case"] != "pe_local" || row["simulated_ns"] != 30.51687 || row["bottleneck_gbs"] != 256.0 || row["match"] != true {
		t.Errorf("row %v", row)
	}
	if !bytes.Contains(out, []byte(`"simulated_ns":30.51687,`)) {
		t.Error("times are not exact decimals")
	}
}
