package ccl

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/topology"
)

// TestDefault checks the settings of every entry of the embedded configuration.
func TestDefault(t *testing.T) {
	c := Default()
	want := map[string]Settings{
		"":                              {Algorithm: "ring", NElem: 32},
		"auto_all_reduce":               {Algorithm: "auto", NElem: 32},
		"bidirectional_ring_all_reduce": {Algorithm: "bidirectional_ring", NElem: 32},
		"direct_one_phase_all_reduce":   {Algorithm: "direct_one_phase", NElem: 32},
		"halving_doubling_all_reduce":   {Algorithm: "halving_doubling", NElem: 32},
		"center_root_all_reduce":        {Algorithm: "center_root", NElem: 32},
		"corner_root_all_reduce":        {Algorithm: "center_root", RootCube: 1, NElem: 32},
		"direct_all_reduce":             {Algorithm: "direct", NElem: 32},
		"double_tree_all_reduce":        {Algorithm: "double_tree", NElem: 32},
		"dual_mesh_all_reduce":          {Algorithm: "dual_mesh", NElem: 32},
		"mesh_all_reduce_4":             {Algorithm: "mesh", NElem: 32, WorldSize: 4},
		"ring_all_reduce_16":            {Algorithm: "ring", NElem: 32, WorldSize: 16},
		"ring_all_reduce_8":             {Algorithm: "ring", NElem: 32, WorldSize: 8},
		"ring_all_reduce_hbm":           {Algorithm: "ring", BufferKind: topology.BufferHBM, NElem: 32},
		"ring_all_reduce_sram":          {Algorithm: "ring", BufferKind: topology.BufferSRAM, NElem: 32},
		"ring_all_reduce_tcm":           {Algorithm: "ring", BufferKind: topology.BufferTCM, NElem: 32},
		"torus_all_reduce":              {Algorithm: "torus", NElem: 32},
		"tree_all_reduce_7":             {Algorithm: "tree", NElem: 32, WorldSize: 7},
	}
	got := map[string]Settings{}
	for _, name := range append(c.Names(), "") {
		s, err := c.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if got, want := c.Source(), "preset default"; got != want {
		t.Errorf("the source is %q, want %q", got, want)
	}
}

// TestNamedMergesDefaults checks that Named returns the values of an entry, and the
// defaults for values that the entry does not give.
func TestNamedMergesDefaults(t *testing.T) {
	const src = `
defaults: {algorithm: tree, buffer_kind: sram, backpressure: poll, n_slots: 8, slot_size: 1 KiB, credit_bytes: 8 B, chunk_bytes: 2 KiB, root_cube: 0}
algorithms:
  none: {}
  zero: {n_elem: 0}
  all: {algorithm: mesh, buffer_kind: hbm, backpressure: sleep, n_slots: 3, slot_size: 64 B, credit_bytes: 1 B, chunk_bytes: 16 B, root_cube: 9, n_elem: 5, world_size: 6}
`
	c, err := Parse("c.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	none := Settings{"tree", topology.BufferSRAM, topology.Poll, 8, topology.KiB, 8, 2 * topology.KiB, 1, 32, 0}
	zero := none
	zero.NElem = 0
	for name, want := range map[string]Settings{
		"": none, "none": none, "zero": zero,
		"all": {"mesh", topology.BufferHBM, topology.Sleep, 3, 64, 1, 16, 10, 5, 6},
	} {
		if got, err := c.Named(name); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// TestDefaultEntry checks that defaults.algorithm may name an algorithm or an entry. If it
// names an entry, the settings of that entry are the defaults for the empty name. Other
// entries inherit only the algorithm of that entry.
func TestDefaultEntry(t *testing.T) {
	const entries = `
algorithms:
  pair: {algorithm: tree, buffer_kind: hbm, n_elem: 5, world_size: 6}
  plain: {n_slots: 3}
  ring: {algorithm: mesh, n_elem: 7}
  auto: {algorithm: mesh}
`
	pair := Settings{Algorithm: "tree", BufferKind: topology.BufferHBM, NSlots: 8, NElem: 5, WorldSize: 6}
	for _, tt := range []struct {
		defaults, entry string
		want, plain     Settings // of the empty name, and of the entry plain
	}{
		{"{algorithm: pair, n_slots: 8}", "pair", pair, Settings{Algorithm: "tree", NSlots: 3, NElem: 32}},
		{"{algorithm: plain, world_size: 12}", "plain", Settings{Algorithm: "ring", NSlots: 3, NElem: 32, WorldSize: 12}, Settings{Algorithm: "ring", NSlots: 3, NElem: 32, WorldSize: 12}},
		{"{algorithm: pair, n_slots: 8, world_size: 12}", "pair", pair, Settings{Algorithm: "tree", NSlots: 3, NElem: 32, WorldSize: 12}},
		{"{algorithm: ring}", "", Settings{Algorithm: "ring", NElem: 32}, Settings{Algorithm: "ring", NSlots: 3, NElem: 32}},
		{"{algorithm: auto}", "", Settings{Algorithm: "auto", NElem: 32}, Settings{Algorithm: "auto", NSlots: 3, NElem: 32}},
		{"{world_size: 12}", "", Settings{Algorithm: "ring", NElem: 32, WorldSize: 12}, Settings{Algorithm: "ring", NSlots: 3, NElem: 32, WorldSize: 12}},
	} {
		c, err := Parse("c.yaml", []byte("defaults: "+tt.defaults+entries))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.DefaultEntry(); got != tt.entry {
			t.Errorf("%s: the default entry is %q, want %q", tt.defaults, got, tt.entry)
		}
		for name, want := range map[string]Settings{"": tt.want, "plain": tt.plain} {
			if got, err := c.Named(name); err != nil || got != want {
				t.Errorf("%s: %q is %+v, %v; want %+v", tt.defaults, name, got, err, want)
			}
		}
	}
}

// TestNamedUnknown checks the error of Named for a name that is not an entry.
func TestNamedUnknown(t *testing.T) {
	all := strings.Join(Default().Names(), ", ")
	for _, c := range []struct {
		config     *Config
		name, want string
	}{
		{Default(), "ring_all_reduce_tmc", `no algorithm is named "ring_all_reduce_tmc" in preset default: there are ` + all + "; did you mean ring_all_reduce_tcm?"},
		{Default(), "butterfly", `no algorithm is named "butterfly" in preset default: there are ` + all},
		{&Config{}, "ring", `no algorithm is named "ring" in the configuration: there are none`},
	} {
		if _, err := c.config.Named(c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// TestHash checks that omitting default values, or writing values in another form, does not
// change the hash, and that changing a value does.
func TestHash(t *testing.T) {
	hash := func(src string, sets ...string) string {
		t.Helper()
		c, err := Parse("c.yaml", []byte(src), sets...)
		if err != nil {
			t.Fatal(err)
		}
		return c.Hash()
	}
	const src = "algorithms: {a: {algorithm: ring, slot_size: 4 KiB}}\n"
	for _, same := range []string{
		"algorithms:\n  a:\n    slot_size: 4096 B\n    n_elem: 32\n",
		"defaults: {algorithm: ring}\nalgorithms: {a: {slot_size: 4 KiB}}\n",
	} {
		if got, want := hash(same), hash(src); got != want {
			t.Errorf("%q has the hash %s, want %s", same, got, want)
		}
	}
	seen := map[string]string{hash(src): src}
	for _, set := range []string{
		"defaults.algorithm=tree", "algorithms.a.algorithm=tree", "algorithms.a.n_elem=0", "algorithms.a.world_size=1", "algorithms.b={}",
		"defaults.buffer_kind=hbm", "defaults.slot_size=4 KiB", "defaults={algorithm: a, n_slots: 2}", "defaults.world_size=12",
	} {
		h := hash(src, set)
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", set, other)
		}
		seen[h] = set
	}
	if got := hash("extends: default"); got != Default().Hash() || len(got) != 12 || strings.Trim(got, "0123456789abcdef") != "" {
		t.Errorf("a file that only extends default has the hash %q, want %q, 12 hexadecimal digits", got, Default().Hash())
	}
}

// TestYAML checks the text that YAML returns for a configuration, and that Parse reads it
// back.
func TestYAML(t *testing.T) {
	elems := 0
	c := &Config{
		Defaults:   Defaults{Tuning: Tuning{NSlots: 8}},
		Algorithms: map[string]Entry{"b": {}, "a": {Tuning: Tuning{SlotSize: topology.KiB}, NElem: &elems}},
	}
	const want = "defaults:\n  n_slots: 8\nalgorithms:\n  a:\n    slot_size: 1 KiB\n    n_elem: 0\n  b: {}\n"
	if diff := cmp.Diff(want, string(c.YAML())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := Parse("again.yaml", c.YAML())
	if err != nil {
		t.Fatal(err)
	}
	again.origin = nil
	if !reflect.DeepEqual(c, again) {
		t.Errorf("read back: %+v, want %+v", again, c)
	}
}
