package task

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

const ns, us = simtime.Nanosecond, 1000 * simtime.Nanosecond

// defaultValues returns the values of the default configuration.
func defaultValues() Config {
	return Config{
		Control:   Control{RegisterRead: 100 * ns, PostedWrite: 5 * ns, ToCompute: 140 * ns, CoreSwitch: 800 * ns},
		Host:      HostGraph{Fixed: 43 * us, PerTask: 8 * us, Tasks: 16384},
		AICPU:     AICPUGraph{PerTask: 300 * ns, PerEdge: 100 * ns, Tasks: 16384},
		TensorMap: TensorMap{PerTask: 300 * ns, PerEdge: 100 * ns, PerTensor: 200 * ns, Slots: 16384, Rings: 4, Schedulers: 3},
	}
}

// sameConfig fails the test unless the configuration `got` has the values of `want`. It
// ignores from which files the values came.
func sameConfig(t *testing.T, name string, got *Config, want Config) {
	t.Helper()
	if diff := cmp.Diff(&want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestDefault checks the values and the source of the default configuration.
func TestDefault(t *testing.T) {
	sameConfig(t, "the default", Default(), defaultValues())
	if got, want := Default().Source(), "preset default"; got != want {
		t.Errorf("the source is %q, want %q", got, want)
	}
	if got := (&Config{}).Source(); got != "" {
		t.Errorf("the source of a configuration made in Go is %q, want none", got)
	}
}

// TestLoad checks which file or preset Load reads for each name, and that --set arguments
// change values.
func TestLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, wantSource string, wantRead topology.Time, sets ...string) {
		t.Helper()
		c, err := Load(t.Context(), name, sets...)
		if err != nil {
			t.Fatal(err)
		}
		want := defaultValues()
		want.Control.RegisterRead = wantRead
		sameConfig(t, wantSource, c, want)
		if c.Source() != wantSource {
			t.Errorf("Load(%q) is %s, want %s", name, c.Source(), wantSource)
		}
	}
	check("", "preset default", 100*ns)
	check("", "preset default, --set control.register_read=50ns", 50*ns, "control.register_read=50ns")
	write(File, []byte("extends: default\ncontrol: {register_read: 7 ns}\n"))
	check("", "tasks.yaml", 7*ns)
	check("", "tasks.yaml, --set control.register_read=8ns, --set control.register_read=1.5 us", 1500*ns,
		"control.register_read=8ns", "control.register_read=1.5 us")
	check("default", "preset default", 100*ns)
	write("on_it.yaml", []byte("extends: ./tasks.yaml\n"))
	check("on_it.yaml", "on_it.yaml", 7*ns)
	write("alone.yaml", Default().YAML())
	check("alone.yaml", "alone.yaml", 100*ns)
	if _, err := Load(t.Context(), "none"); err == nil || err.Error() != `no file none and no preset "none"; presets: default` {
		t.Errorf("Load of nothing: got %v", err)
	}
}

// TestSetReachesEveryValue checks that --set can change each value of the configuration
// without changing any other value.
func TestSetReachesEveryValue(t *testing.T) {
	parts := reflect.TypeFor[Config]()
	seen := map[string]string{Default().Hash(): "the default"}
	for _, part := range config.Keys(parts) {
		for _, k := range config.Keys(part.Type) {
			want := defaultValues()
			field := reflect.ValueOf(&want).Elem().FieldByIndex(part.Index).FieldByIndex(k.Index)
			value := "13"
			field.SetInt(13)
			if k.Type == reflect.TypeFor[topology.Time]() {
				value += " fs"
			}
			set := part.Name + "." + k.Name + "=" + value
			c, err := Load(t.Context(), "default", set)
			if err != nil {
				t.Fatal(err)
			}
			sameConfig(t, set, c, want)
			if other, ok := seen[c.Hash()]; ok {
				t.Errorf("%s has the hash of %s", set, other)
			}
			seen[c.Hash()] = set
		}
	}
	if got, want := len(seen), 18; got != want {
		t.Errorf("%d configurations, want %d: the default and one for each value", got, want)
	}
}

// TestHash checks that the hash does not change if a file leaves out a default or writes a
// value in another unit.
func TestHash(t *testing.T) {
	want := Default().Hash()
	for _, src := range []string{
		"extends: default",
		"extends: default\nhost_build_graph: {fixed: 43000 ns}\ncontrol: {register_read: 0.1 µs}\n",
		string(Default().YAML()),
	} {
		c, err := Parse("c.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Hash(); got != want {
			t.Errorf("%q has the hash %s, want %s", src, got, want)
		}
	}
	if len(want) != 12 || strings.Trim(want, "0123456789abcdef") != "" {
		t.Errorf("the hash is %q, want 12 hexadecimal digits", want)
	}
}

// TestYAML checks the complete text of the default configuration as YAML returns it.
func TestYAML(t *testing.T) {
	const want = `control:
  register_read: 100 ns
  posted_write: 5 ns
  to_compute: 140 ns
  core_switch: 800 ns
  compute_cores: 0
host_build_graph:
  fixed: 43 us
  per_task: 8 us
  tasks: 16384
aicpu_build_graph:
  per_task: 300 ns
  per_edge: 100 ns
  tasks: 16384
tensormap_and_ringbuffer:
  per_task: 300 ns
  per_edge: 100 ns
  per_tensor: 200 ns
  slots: 16384
  rings: 4
  schedulers: 3
`
	if diff := cmp.Diff(want, string(Default().YAML())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestYAMLReadsBack checks that a random valid configuration that is written with YAML and
// read with Parse is unchanged.
func TestYAMLReadsBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var c Config
		v := reflect.ValueOf(&c).Elem()
		for _, part := range config.Keys(v.Type()) {
			for _, k := range config.Keys(part.Type) {
				limit := config.LimitOf(k.Tag)
				if k.Type == reflect.TypeFor[topology.Time]() {
					limit.Min, limit.Max = 0, 1e15 // a second
				}
				v.FieldByIndex(part.Index).FieldByIndex(k.Index).SetInt(rapid.Int64Range(limit.Min, limit.Max).Draw(r, part.Name+"."+k.Name))
			}
		}
		again, err := Parse("again.yaml", c.YAML())
		if err != nil {
			r.Fatalf("%v\n%s", err, c.YAML())
		}
		if diff := cmp.Diff(&c, again, cmpopts.IgnoreUnexported(Config{})); diff != "" {
			r.Fatalf("read back (-want +got):\n%s", diff)
		}
		if c.Hash() != again.Hash() {
			r.Fatalf("read back, the hash is %s, want %s", again.Hash(), c.Hash())
		}
	})
}

// TestMistakes checks the error messages for every kind of mistake in tasks.yaml and in
// --set.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, src string
		sets      []string
		want      []string // without the source lines that follow each message
	}{
		{"unknown keys", "extends: default\ncontrol: {register_reed: 1 ns}\nring: {}\n", nil, []string{
			"c.yaml:2:11: control.register_reed: unknown key; known here: register_read, posted_write, to_compute, core_switch, compute_cores; did you mean register_read?",
			"c.yaml:3:1: ring: unknown key; known here: control, host_build_graph, aicpu_build_graph, tensormap_and_ringbuffer",
		}},
		{"units", "extends: default\nhost_build_graph: {fixed: 43, per_task: 8 B}\ncontrol: {to_compute: 1 nss}\n", nil, []string{
			"c.yaml:2:27: host_build_graph.fixed: 43 needs a unit: write 43 ns, for example",
			`c.yaml:2:41: host_build_graph.per_task: unknown unit "B"; units of a time: fs, ps, ns, us, ms, s`,
			`c.yaml:3:23: control.to_compute: unknown unit "nss"; units of a time: fs, ps, ns, us, ms, s; did you mean ns?`,
		}},
		{"out of range", "extends: default\ntensormap_and_ringbuffer: {rings: 65, slots: 0, per_tensor: 2 s, per_edge: 0.1 fs}\ncontrol: {compute_cores: 131073}\n", nil, []string{
			"c.yaml:2:35: tensormap_and_ringbuffer.rings: expected a whole number from 1 to 64, got 65",
			"c.yaml:2:46: tensormap_and_ringbuffer.slots: expected a whole number from 1 to 16777216, got 0",
			"c.yaml:2:61: tensormap_and_ringbuffer.per_tensor: 2 s is out of range: a time is from 0 ns to 1 s",
			"c.yaml:2:76: tensormap_and_ringbuffer.per_edge: 0.1 fs is not a whole number of femtoseconds",
			"c.yaml:3:26: control.compute_cores: expected a whole number from 0 to 131072, got 131073",
		}},
		{"negative", "extends: default\naicpu_build_graph: {per_task: -1 ns, tasks: -5}\n", nil, []string{
			"c.yaml:2:31: aicpu_build_graph.per_task: -1 ns is negative: write a time such as 150 ns",
			"c.yaml:2:45: aicpu_build_graph.tasks: expected a whole number from 1 to 16777216, got -5",
		}},
		{"kinds", "extends: default\ncontrol: 5\naicpu_build_graph: {tasks: many, per_edge: [1 ns], per_task: }\n", nil, []string{
			"c.yaml:2:10: control: expected a mapping with the keys register_read, posted_write, to_compute, core_switch, compute_cores, got 5",
			`c.yaml:3:28: aicpu_build_graph.tasks: expected a whole number from 1 to 16777216, got "many"`,
			"c.yaml:3:44: aicpu_build_graph.per_edge: expected a time such as 150 ns, got a list",
			"c.yaml:3:52: aicpu_build_graph.per_task: no value: give a time such as 150 ns, or delete the key",
		}},
		{"missing", strings.Replace(string(Default().YAML()), "  rings: 4\n", "", 1), nil, []string{
			"c.yaml:15:1: tensormap_and_ringbuffer.rings: missing: add a whole number from 1 to 64",
		}},
		{"extends", "extends: fast\n", nil, []string{
			`c.yaml:1:10: extends: no preset "fast"; presets: default`,
		}},
		{"--set", "extends: default\n",
			[]string{"control.register_read=50", "tensormap_and_ringbuffer.ring=5", "aicpu_build_graph.tasks=0", "host_build_graph.fixed=-1us"},
			[]string{
				"--set: control.register_read: 50 needs a unit: write 50 ns, for example",
				"--set: tensormap_and_ringbuffer.ring: unknown key; known here: per_task, per_edge, per_tensor, slots, rings, schedulers; did you mean rings?",
				"--set: aicpu_build_graph.tasks: expected a whole number from 1 to 16777216, got 0",
				"--set: host_build_graph.fixed: -1us is negative: write a time such as 150 ns",
			}},
	} {
		_, err := Parse("c.yaml", []byte(c.src), c.sets...)
		var errs config.Errors
		if !errors.As(err, &errs) {
			t.Errorf("%s: got %v, want config.Errors", c.name, err)
			continue
		}
		var got []string
		for _, e := range errs {
			message, _, _ := strings.Cut(e.Error(), "\n")
			got = append(got, message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestParseRuntime checks that ParseRuntime accepts the name of each runtime, and returns
// the right error for other names.
func TestParseRuntime(t *testing.T) {
	for _, r := range Runtimes {
		if got, err := ParseRuntime(string(r)); got != r || err != nil {
			t.Errorf("%s: got %s, %v", r, got, err)
		}
	}
	const want = `no runtime "ring": write one of host_build_graph, aicpu_build_graph, tensormap_and_ringbuffer`
	if _, err := ParseRuntime("ring"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
