package topology

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/kernbench/kernbench/internal/config/configtest"
)

// loaderOnly lists the rules that a schema cannot express, as parts of the loader's errors.
// Only for these rules may the schema accept a description that the loader refuses.
var loaderOnly = []string{
	"out of range",               // the upper limit of a quantity, and the lower limit of a clock
	"not a whole number of",      // fractions of a byte
	"expected a power of two",    // flit and burst
	"do not fit in",              // queue rings
	"outside the NoC",            // sites
	"corners need a NoC",         // corners on a narrow NoC
	"are not a square",           // grids without sides
	"do not fill a grid",         // w·h != count
	"w without h", "h without w", // half a grid
	"has no grid",             // sides of a ring
	"are more than",           // the total of PEs and of routers
	"is about the same link",  // two overrides of one link
	"changes nothing",         // override without a change
	"an absent link has no",   // override that removes and changes a link
	"no link", "leave no way", // override of a link that does not exist, or that is needed
	"no preset", "can extend presets only",
}

// presetTree returns a preset as plain maps, lists and values.
func presetTree(t *testing.T, name string) map[string]any {
	t.Helper()
	src, err := PresetSource(name)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Load(src, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestSchemaAcceptsPresets(t *testing.T) {
	schema := configtest.Resolve(t, Schema())
	for _, name := range Presets() {
		if err := schema.Validate(presetTree(t, name)); err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
		spec, err := Preset(name)
		if err != nil {
			t.Errorf("preset %s: %v", name, err)
			continue
		}
		var tree map[string]any
		if err := yaml.Load(spec.YAML(), &tree); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(tree); err != nil {
			t.Errorf("preset %s, written out: %v", name, err)
		}
	}
}

// TestSchemaAgreesWithLoader changes every value of a complete description, and of a
// description that extends it, one at a time. It checks that the schema and the loader
// either both accept or both refuse each result, apart from the rules in loaderOnly.
func TestSchemaAgreesWithLoader(t *testing.T) {
	full := presetTree(t, "default")
	full["sip"].(map[string]any)["cube_mesh"] = map[string]any{"w": 1, "h": 1, "gap": "1 mm"} // small, so that the test is fast
	full["overrides"] = []any{map[string]any{
		"link": "sip0.io.switch<->sip1.io.switch", "bandwidth": "50 GB/s", "latency": "1 us",
	}}
	extending := map[string]any{
		"extends": "default",
		"system":  map[string]any{"sips": map[string]any{"count": 6, "topology": "torus_2d", "w": 2, "h": 3}},
		"sip":     map[string]any{"ucie": map[string]any{"latency": "2 ns"}, "cube_mesh": map[string]any{"w": 1, "h": 1}},
		"overrides": []any{map[string]any{
			"link": "sip0.io.switch<->sip1.io.switch", "absent": true,
		}},
	}
	drift := configtest.Drift{
		Schema: configtest.Resolve(t, Schema()), LoaderOnly: loaderOnly,
		Parse: func(text []byte) error { _, err := Parse("mutated.yaml", text); return err },
	}
	cases, accepted := 0, 0
	for _, base := range []map[string]any{full, extending} {
		mutate(base, func(what string) {
			cases++
			if drift.Agree(t, what, base) {
				accepted++
			}
		})
	}
	if cases < 2000 || accepted < 200 {
		t.Errorf("%d cases of which %d are accepted: the mutations have become too few", cases, accepted)
	}
}

// oddValues are the values that mutate writes in every place. oddScalars are additional
// values in place of scalars.
var oddValues = []any{
	0, "", "word", true, false, nil, []any{}, map[string]any{}, map[string]any{"a": 1}, []any{1},
}

var oddScalars = []any{
	1, -1, 3, 4.5, 65, 1 << 40, "0", "12", "unlimited", "r0c0", "r9c9", "ring_1d", "torus_2d", "sram",
	"1 B", "1.5 KiB", "1.0001 B", "2 MB", "0 B", "1 PiB", "12 GB/s", "0 GB/s", "0.0 GB/s", "0.5 B/s", "999999 TB/s",
	"1 ns", "1ns", "1  ns", "-1 ns", "+1 ns", "1 µs", "0 ns", "00 ns", "0.1 fs", "2 s", "1. ns", ".5 ns", "1e3 ns",
	"1 GHz", "1 Hz", "2.5 mm", "0.0001 mm", "10 ns/mm", " 1 ns", "1 ns ",
}

// mutate changes every place of a tree, one at a time: it deletes and adds keys and
// replaces values. After each change it calls `try` with a description of the change, and
// then undoes the change.
func mutate(tree map[string]any, try func(what string)) {
	var walk func(path string, node any, put func(any))
	walk = func(path string, node any, put func(any)) {
		values := oddValues
		switch node.(type) {
		case map[string]any, []any:
		default:
			values = slices.Concat(oddValues, oddScalars)
		}
		for _, v := range values {
			put(v)
			try(fmt.Sprintf("%s = %#v", path, v))
		}
		put(node)
		switch node := node.(type) {
		case map[string]any:
			node["unknown"] = 1
			try(path + " with an unknown key")
			delete(node, "unknown")
			for _, key := range slices.Sorted(maps.Keys(node)) {
				value := node[key]
				delete(node, key)
				try(path + "." + key + " deleted")
				walk(path+"."+key, value, func(v any) { node[key] = v })
			}
		case []any:
			for i, item := range node {
				walk(fmt.Sprintf("%s[%d]", path, i), item, func(v any) { node[i] = v })
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		value := tree[key]
		delete(tree, key)
		try(key + " deleted")
		walk(key, value, func(v any) { tree[key] = v })
	}
}
