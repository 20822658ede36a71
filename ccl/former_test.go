package ccl

import (
	"fmt"
	"os"
	"testing"

	"github.com/kernbench/kernbench/internal/config"
)

// TestFormerEntries checks that entries of the embedded file are found by their former
// names, and that a file and --set can change the entries under these names. Entries that
// only a user's file has keep their names.
func TestFormerEntries(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		old, now string // texts of ccl.yaml
		sets     [2]string
		reports  string
	}{
		{"extends: default\ndefaults: {algorithm: ring_allreduce_hbm}\n", "extends: default\ndefaults: {algorithm: ring_all_reduce_hbm}\n", [2]string{}, "[ring_allreduce_hbm ring_all_reduce_hbm]"},
		{"extends: default\nalgorithms: {tree_allreduce_7: {n_elem: 9, n_slots: 2}}\n", "extends: default\nalgorithms: {tree_all_reduce_7: {n_elem: 9, n_slots: 2}}\n", [2]string{}, "[tree_allreduce_7 tree_all_reduce_7]"},
		{"extends: default\n", "extends: default\n", [2]string{"algorithms.corner_root_allreduce.root_cube=3", "algorithms.corner_root_all_reduce.root_cube=3"}, "[corner_root_allreduce corner_root_all_reduce]"},
		{"extends: default\n", "extends: default\n", [2]string{"defaults.algorithm=tree_allreduce_7", "defaults.algorithm=tree_all_reduce_7"}, "[tree_allreduce_7 tree_all_reduce_7]"},
	} {
		var reports []string
		load := func(text, set string) *Config {
			t.Helper()
			if err := os.WriteFile("my.yaml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var sets []string
			if set != "" {
				sets = []string{set}
			}
			reports = []string{}
			c, err := Load(config.WithRenamed(t.Context(), func(old, name string) { reports = append(reports, old, name) }), "my.yaml", sets...)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		want := load(tt.now, tt.sets[1])
		if len(reports) > 0 {
			t.Errorf("%q: reports %s, want none", tt.now, reports)
		}
		got := load(tt.old, tt.sets[0])
		if got.Hash() != want.Hash() || string(got.YAML()) != string(want.YAML()) || fmt.Sprint(reports) != tt.reports {
			t.Errorf("%q: reports %s, want %s; got\n%swant\n%s", tt.old, reports, tt.reports, got.YAML(), want.YAML())
		}
	}
	own, err := Parse("own.yaml", []byte("defaults: {algorithm: ring_allreduce_8}\nalgorithms: {ring_allreduce_8: {algorithm: tree}, my_allreduce: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(own.Names(), own.DefaultEntry()); got != "[my_allreduce ring_allreduce_8]ring_allreduce_8" {
		t.Errorf("entries of a file that stands alone: %s", got)
	}
	s, err := Default().Named("Ring-AllReduce_8")
	if want, _ := Default().Named("ring_all_reduce_8"); err != nil || s != want {
		t.Errorf("got %+v, %v, want %+v", s, err, want)
	}
	if _, err := Parse("bad.yaml", []byte("defaults: {algorithm: halvingdoubling}\n")); err == nil {
		t.Error("another spelling of an algorithm of the library is accepted")
	}
}
