package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// staged is a scenario in which each rank reads the window of the next rank.
const staged = `summary: "each rank copies the data of the next rank"
nranks: 3
params: {count: 3}
signals: 1
domains: {some: [0, 2]}
buffers:
  - {name: x, dtype: f32, shape: [count], placement: window, init: i%1000 + 1000*rank + 10*round, staged: true}
  - {name: y, dtype: u8, shape: [3, 5], placement: window, init: i + rank + round, domain: some, staged: true}
  - {name: out, dtype: f32, shape: [count], placement: device}
kernel: {name: probe_staged, args: [x, y, out, count]}
tasks: {name: probe_staged, args: [x, y, out, count]}
outputs:
  - {buffer: out, golden: i%1000 + 1000*((rank + 1)%nranks) + 10*round}
  - {buffer: y, golden: i + rank + round}
`

func init() {
	next := func(t *tl.PE, x, out tl.Ptr, n int) {
		for at := 0; at < n; at += 1 << 14 {
			t.Store(out.At(at), t.Get((t.Rank()+1)%t.NumRanks(), x.At(at), tl.Shape{min(1<<14, n-at)}, tl.F32))
		}
		t.Barrier(0)
	}
	scenario.RegisterKernel("probe_staged", func(t *tl.PE, x, y, out tl.Ptr, n int) { next(t, x, out, n) })
	scenario.RegisterTasks("probe_staged", func(b *task.Builder, x, y, out *task.Tensor, n int) {
		b.Submit("next", next, task.Args{task.AtPeers("x", x), task.Out("out", out), task.Scalar("n", n)})
	})
	scenario.Register("probe_staged", []byte(staged))
	// The only staged buffer is x. If its size is whole bursts of all channels, its private
	// memory begins at a multiple of these bursts, as stagingTime assumes.
	whole := strings.NewReplacer("  - {name: y, dtype: u8, shape: [3, 5], placement: window, init: i + rank + round, domain: some, staged: true}\n", "",
		"  - {buffer: y, golden: i + rank + round}\n", "", "domains: {some: [0, 2]}\n", "", "[x, y, out", "[x, x, out").Replace(staged)
	scenario.Register("probe_staged_x", []byte(whole))
	scenario.Register("probe_direct_x", []byte(strings.Replace(whole, ", staged: true", "", 1)))
}

// stagingTime returns how long, in nanoseconds, the preset default takes to copy blocks of
// the given sizes in bytes, one after another. A block is read from HBM and then written. A
// block takes 1 ns for dispatch, 1 ns for the scheduler, and 4 ns for each of two
// descriptors, one for the read and one for the write. Each of the two transfers takes
// 1.01687 ns for wires and router, 8 ns for a burst, 2.5 ns for the first flit of 256
// bytes, and 1 ns for each other flit.
func stagingTime(blocks ...int) (ns float64) {
	for _, bytes := range blocks {
		const fs = 1e6
		move := 1_016_870 + 8*int(fs) + 2_500_000 + (bytes/256-1)*int(fs)
		ns += float64(10*int(fs)+2*move) / fs
	}
	return ns
}

// formatTime formats a time in nanoseconds. For nil it returns "none".
func formatTime(ns *float64) string {
	if ns == nil {
		return "none"
	}
	return fmt.Sprintf("%v ns", *ns)
}

// TestStagingTime checks that the simulated time of staging equals the closed form in
// stagingTime, and that staging does not change the time of the kernel.
func TestStagingTime(t *testing.T) {
	const block = 256 << 10
	for _, tt := range []struct {
		count, rounds int
		want          float64
	}{
		{256, 1, stagingTime(1024)},
		{512, 1, stagingTime(2048)}, // 47.03374
		{512, 3, stagingTime(2048, 2048, 2048)},
		{block / 4, 1, stagingTime(block)},
		{block/4 + 512, 1, stagingTime(block, 2048)},
		{0, 1, 0},
	} {
		for _, runtime := range []task.Runtime{"", task.AICPUBuildGraph} {
			if runtime != "" && tt.count > 512 {
				continue
			}
			o := runner.Options{Scenario: "probe_staged_x", Backend: runner.Sim, Race: true, Runtime: runtime}
			o.Rounds, o.Params = tt.rounds, map[string]string{"count": fmt.Sprint(tt.count)}
			r := run(t, o) // not runRight: with count 0 nothing is compared
			o.Scenario = "probe_direct_x"
			direct := run(t, o)
			if !r.OK || !direct.OK {
				t.Errorf("count %d, %d rounds, runtime %q: %+v", tt.count, tt.rounds, runtime, r)
			}
			if r.Staging == nil || *r.Staging != tt.want || direct.Staging != nil {
				t.Errorf("count %d, %d rounds, runtime %q: staging takes %v, want %v ns; %v without it, want none", tt.count, tt.rounds, runtime, formatTime(r.Staging), tt.want, formatTime(direct.Staging))
			}
			if r.TimeNS != direct.TimeNS {
				t.Errorf("count %d, %d rounds, runtime %q: the kernel takes %v ns, want %v as without staging", tt.count, tt.rounds, runtime, r.TimeNS, direct.TimeNS)
			}
		}
	}
}

// TestStaging checks that staged buffers have the right values on every backend, with odd
// sizes, domains and several rounds.
func TestStaging(t *testing.T) {
	for _, backend := range runner.Backends {
		for _, runtime := range []task.Runtime{"", task.AICPUBuildGraph} {
			for _, ranks := range []int{3, 5} {
				o := runner.Options{Scenario: "probe_staged", Backend: backend, Runtime: runtime, Race: backend == runner.Sim}
				o.Ranks, o.Rounds, o.Params = ranks, 2, map[string]string{"count": "1031"}
				if r := runRight(t, o); r.Staging == nil || *r.Staging <= 0 {
					t.Errorf("%s, %d ranks, runtime %q: staging takes %v, want some time", backend, ranks, runtime, formatTime(r.Staging))
				}
			}
		}
	}
}

// TestStagingSmallTCM checks that staging copies blocks of at most a quarter of the TCM.
func TestStagingSmallTCM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(file, []byte("extends: default\nsystem: {sips: {count: 3}}\npe: {tcm: {size: 512 KiB}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := runner.Options{Scenario: "probe_staged_x", Backend: runner.Sim, Preset: file}
	o.Params = map[string]string{"count": fmt.Sprint((128<<10)/4 + 512)}
	if r := runRight(t, o); *r.Staging != stagingTime(128<<10, 2048) {
		t.Errorf("staging takes %v ns, want %v", *r.Staging, stagingTime(128<<10, 2048))
	}
}
