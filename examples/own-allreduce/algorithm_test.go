package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// run runs a command line of kernbench, which fails if a value is wrong.
func run(t *testing.T, line string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	args = append(strings.Fields(line), args...)
	if status := kernbench.Run(t.Context(), args, &out, &errs); status != 0 {
		t.Fatalf("kernbench %s: exit status %d\n%s%s", strings.Join(args, " "), status, &out, &errs)
	}
	return out.Bytes()
}

// TestValues: every rank has the same bits, and the right ones, whatever there is to sum.
func TestValues(t *testing.T) {
	const sum = "coll all_reduce --algo there_and_back --ranks-per pe --world "
	for _, line := range []string{
		"1 -o all -d all -b 0 -e 5000 -i 2500",
		"2 -o all -d all -b 0 -e 5000 -i 2500",
		"3 -b 4 -e 60000 -f 11 --values reals",
		"8 -b 4 -e 60000 -f 11 --buffer hbm",
		"11 -b 4 -e 60000 -f 11 --set ccl.defaults.n_slots=1",
		"11 -b 100 -e 100 --set ccl.defaults.chunk_bytes=4B --set ccl.defaults.n_slots=2",
		"64 -b 2000 -e 2000",
	} {
		run(t, sum+line)
	}
	run(t, "run ccl_all_reduce --ranks-per sip --topology ring6 --check=race") // all entries of ccl.yaml
}

// measured returns how long an all-reduce of size bytes takes, in nanoseconds.
func measured(t *testing.T, preset string, size int) (ranks int, ns float64) {
	t.Helper()
	return timed(t, "there_and_back", size, "--topology", preset)
}

// timed is measured of an algorithm, with the arguments that say on what.
func timed(t *testing.T, algorithm string, size int, args ...string) (ranks int, ns float64) {
	t.Helper()
	bytes := strconv.Itoa(size)
	out := run(t, "coll all_reduce -d f32 --data off --format json --ccl default", append(args, "--algo", algorithm, "-b", bytes, "-e", bytes)...)
	var table struct {
		Ranks int
		Rows  []struct {
			Time float64 `json:"time_us"`
		}
	}
	if err := json.Unmarshal(out, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v in\n%s", err, out)
	}
	return table.Ranks, table.Rows[0].Time * 1000
}

// TestTime: on the textbook's machine three chunks take 2(N-1) hops of 150 ns and of 4 KiB
// at 100 GB/s, and two chunks more.
func TestTime(t *testing.T) {
	const hop, chunk = 150.0, 4096 / 100.0
	ranks, got := measured(t, "alpha_beta", 3*4096)
	want := float64(2*(ranks-1))*(hop+chunk) + 2*chunk
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("3 chunks on %d ranks take %v ns, want %v", ranks, got, want)
	}
}

// TestCost: the formula is not far from what is measured.
func TestCost(t *testing.T) {
	for _, preset := range []string{"alpha_beta", "ring6", "torus2x3"} {
		spec, err := topology.Load(t.Context(), preset)
		if err != nil {
			t.Fatal(err)
		}
		g, err := topology.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		queues := spec.PE.IPCQ
		for _, size := range []int{8, 4096, 64 << 10, 1 << 20} {
			ranks, got := measured(t, preset, size)
			var pes []int // the first of each SIP
			for rank := range ranks {
				pes = append(pes, rank*spec.CubesPerSIP()*spec.PEsPerCube())
			}
			p := &ccl.Plan{
				Collective: ccl.AllReduce, Ranks: ranks, DType: tl.F32, Counts: []int{size / 4},
				Chunk: int(queues.SlotSize) / 4, Slots: queues.NSlots,
			}
			predicted, _ := cost.Cost(thereAndBack, p, cost.NewNetwork(g, pes, queues))
			if ratio := predicted.NS() / got; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("%d B on %s cost %v by the formula and take %v ns: ratio %.3f, want 0.9 to 1.1", size, preset, predicted, got, ratio)
			}
		}
	}
}

// TestStar: the hub has a queue for each rank up to 9 of them, and inboxes for more; sums are
// the same bits everywhere.
func TestStar(t *testing.T) {
	const sum = "coll all_reduce --algo star --ranks-per pe --world "
	for _, line := range []string{
		"1 -b 0 -e 5000 -i 2500",
		"3 -o all -d f32 -b 0 -e 5000 -i 2500",
		"5 -b 4 -e 60000 -f 11 --values reals",
		"7 -b 4 -e 60000 -f 11 --set ccl.defaults.n_slots=1",
		"9 -b 100 -e 100 --set ccl.defaults.chunk_bytes=4B",
		"13 -o all -d i32 -b 0 -e 5000 -i 2500",
		"13 -d all -b 5000 -e 5000",
		"13 -b 4 -e 60000 -f 11 --values reals",
		"13 -b 100 -e 100 --set ccl.defaults.chunk_bytes=4B --set ccl.defaults.n_slots=2",
	} {
		run(t, sum+line)
	}
}

// TestStarTime: where each pair of devices has a link, a chunk goes there and back in the time
// of two messages, to any number of ranks, and to inboxes a notification of one byte behind
// each. PEs of one cube share links.
func TestStarTime(t *testing.T) {
	for _, ranks := range []int{3, 5, 7, 13} {
		for _, ports := range []int{1, 8, 1024} { // inboxes, inboxes for 13, queues
			n, got := timed(t, "star", 4096, "--topology", "alpha_beta", "--set", "system.sips.topology=fully_connected",
				"--set", "system.sips.count="+strconv.Itoa(ranks), "--set", "pe.ipcq.max_ports="+strconv.Itoa(ports))
			want := 2 * (150 + 4096/100.0)
			if ranks-1 > ports {
				want += 2 * 1 / 100.0
			}
			if n != ranks || math.Abs(got-want) > 1e-6 {
				t.Errorf("4 KiB on %d devices with %d ports take %v ns, want %v on %d", n, ports, got, want, ranks)
			}
		}
	}
	for ranks, want := range map[int]float64{3: 237.19122, 5: 357.19122, 7: 491.28122, 13: 1098.35122} {
		if _, got := timed(t, "star", 4096, "--ranks-per", "pe", "--world", strconv.Itoa(ranks)); math.Abs(got-want) > 1e-6 {
			t.Errorf("4 KiB on %d PEs take %v ns, want %v", ranks, got, want)
		}
	}
}
