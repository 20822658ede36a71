package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// FuzzSweepFile: whatever a file says, its mistakes are told, and a grid that is accepted
// has the points that it says, all of them different.
func FuzzSweepFile(f *testing.F) {
	f.Add(small)
	f.Add(fast)
	f.Add("bench: x\nset: [a=1]\ngrid:\n  - zip:\n    - {key: a, values: [1, 2]}\n    - {key: b, from: 1, to: 9, times: 3}\n")
	f.Add("bench: x\ngrid: [{key: a, from: 0, to: 9223372036854775807, step: 1000000000}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := readSweep(t.Context(), name)
		if err != nil {
			return
		}
		points := s.points()
		if len(points) == 0 || len(points) > experiment.MaxPoints {
			t.Errorf("%d points", len(points))
		}
		for i, p := range points[1:] {
			if slices.Equal(p, points[i]) {
				t.Errorf("points %d and %d are both %v", i, i+1, p)
			}
		}
	})
}

// FuzzSet: whatever --set says, it is a mistake that is told, or a configuration that can be
// written and read again.
func FuzzSet(f *testing.F) {
	f.Add("system.sips.count=8")
	f.Add("sip.ucie.bandwidth=256GB/s")
	f.Add("overrides=[{link: host->sip0.io.pcie, bandwidth: unlimited}]")
	f.Add("defaults.buffer_kind=hbm")
	f.Add("control.register_read=50ns")
	f.Fuzz(func(t *testing.T, set string) {
		if spec, err := topology.Load("default", set); err == nil && spec.Hash() == "" {
			t.Errorf("topology with --set %q has no hash", set)
		}
		if c, err := ccl.Load("default", set); err == nil && c.Hash() == "" {
			t.Errorf("ccl with --set %q has no hash", set)
		}
		if c, err := task.Load("default", set); err == nil && c.Hash() == "" {
			t.Errorf("tasks with --set %q has no hash", set)
		}
	})
}
