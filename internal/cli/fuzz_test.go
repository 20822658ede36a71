package cli

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/topology"
)

// FuzzSet checks that any argument of --set is either refused or gives a configuration with
// a hash.
func FuzzSet(f *testing.F) {
	f.Add("system.sips.count=8")
	f.Add("sip.ucie.bandwidth=256GB/s")
	f.Add("overrides=[{link: host->sip0.io.pcie, bandwidth: unlimited}]")
	f.Add("defaults.buffer_kind=hbm")
	f.Add("control.register_read=50ns")
	f.Fuzz(func(t *testing.T, set string) {
		if spec, err := topology.Load(t.Context(), "default", set); err == nil && spec.Hash() == "" {
			t.Errorf("topology with --set %q has no hash", set)
		}
		if c, err := ccl.Load(t.Context(), "default", set); err == nil && c.Hash() == "" {
			t.Errorf("ccl with --set %q has no hash", set)
		}
		if c, err := task.Load(t.Context(), "default", set); err == nil && c.Hash() == "" {
			t.Errorf("tasks with --set %q has no hash", set)
		}
	})
}
