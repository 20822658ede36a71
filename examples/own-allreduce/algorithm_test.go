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

// run runs a command line of kernbench and returns its output. The test fails if the exit
// status is not 0, for example because a value is wrong.
func run(t *testing.T, line string, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	args = append(strings.Fields(line), args...)
	if status := kernbench.Run(t.Context(), args, &out, &errs); status != 0 {
		t.Fatalf("kernbench %s: exit status %d\n%s%s", strings.Join(args, " "), status, &out, &errs)
	}
	return out.Bytes()
}

// TestValues checks that every rank has the same, correct bits for many sizes and settings.
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

// measurePreset runs an all-reduce of `size` bytes by there_and_back on a preset. It
// returns the number of ranks and the time in nanoseconds.
func measurePreset(t *testing.T, preset string, size int) (ranks int, ns float64) {
	t.Helper()
	return measure(t, "there_and_back", size, "--topology", preset)
}

// measure runs an all-reduce of `size` bytes. It returns the number of ranks, and the time
// in nanoseconds. `args` are further arguments, such as the machine.
func measure(t *testing.T, algorithm string, size int, args ...string) (ranks int, ns float64) {
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

// TestTime checks the time of three chunks of 4 KiB on a machine with textbook formulas.
// The first chunk makes 2(N-1) hops. Each hop takes 150 ns plus the time of 4 KiB at 100
// GB/s. Each of the other two chunks adds only the time of 4 KiB at 100 GB/s.
func TestTime(t *testing.T) {
	const hop, chunk = 150.0, 4096 / 100.0
	ranks, got := measurePreset(t, "alpha_beta", 3*4096)
	want := float64(2*(ranks-1))*(hop+chunk) + 2*chunk
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("3 chunks on %d ranks take %v ns, want %v", ranks, got, want)
	}
}

// TestCost checks that predicted times are within 10 % of measured times.
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
			ranks, got := measurePreset(t, preset, size)
			var pes []int // the first PE of each SIP
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

// TestStar checks that the sums have the same bits on all ranks. The hub has queues for up
// to 9 ranks, and inboxes for more.
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

// TestStarTime checks the time of a chunk. If each pair of devices has a link, a chunk
// takes the time of two messages for any number of ranks. With inboxes, a notification of
// one byte follows each message. The hub's last notification is visible when its messages to
// all other devices have arrived: an acknowledgement of one byte travels to the hub, and a
// report of it to the device. On PEs of one cube, which share links, the time grows with
// the number of ranks.
func TestStarTime(t *testing.T) {
	for _, ranks := range []int{3, 5, 7, 13} {
		for _, ports := range []int{1, 8, 1024} { // always inboxes, inboxes for 13 ranks, always queues
			n, got := measure(t, "star", 4096, "--topology", "alpha_beta", "--set", "system.sips.topology=fully_connected",
				"--set", "system.sips.count="+strconv.Itoa(ranks), "--set", "pe.ipcq.max_ports="+strconv.Itoa(ports))
			want := 2 * (150 + 4096/100.0)
			if ranks-1 > ports {
				want += 1/100.0 + 2*(150+1/100.0)
			}
			if n != ranks || math.Abs(got-want) > 1e-6 {
				t.Errorf("4 KiB on %d devices with %d ports take %v ns, want %v on %d", n, ports, got, want, ranks)
			}
		}
	}
	for ranks, want := range map[int]float64{3: 250.19122, 5: 375.740518, 7: 505.8314, 13: 1181.9614} {
		if _, got := measure(t, "star", 4096, "--ranks-per", "pe", "--world", strconv.Itoa(ranks)); math.Abs(got-want) > 1e-6 {
			t.Errorf("4 KiB on %d PEs take %v ns, want %v", ranks, got, want)
		}
	}
}
