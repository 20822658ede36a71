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
	run(t, "run ccl_allreduce --ranks-per sip --topology ring6 --check=race") // all entries of ccl.yaml
}

// measured is how long an all-reduce of so many bytes takes, in nanoseconds.
func measured(t *testing.T, preset string, size int) (ranks int, ns float64) {
	t.Helper()
	out := run(t, "coll all_reduce --algo there_and_back -d f32 --data off --format json", "--ccl", "default",
		"--topology", preset, "-b", strconv.Itoa(size), "-e", strconv.Itoa(size))
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
		spec, err := topology.Load(preset)
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
			cost, _ := ccl.Cost(thereAndBack, p, ccl.NewNetwork(g, pes, queues))
			if ratio := cost.NS() / got; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("%d B on %s cost %v by the formula and take %v ns: ratio %.3f, want 0.9 to 1.1", size, preset, cost, got, ratio)
			}
		}
	}
}
