package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	for _, name := range []string{"probe_prepared_a", "probe_prepared_b"} {
		scenario.RegisterKernel(name, func(*tl.PE, tl.Ptr, int) {})
	}
	scenario.Register("probe_prepared", []byte(`summary: "a probe"
nranks: 2
ranks: {min: 2, max: 4}
params: {mode: a|b}
buffers:
  - {name: x, dtype: f32, shape: [4], placement: window, init: i}
kernel: {name: probe_prepared_$mode, args: [x, root]}
outputs:
  - {buffer: x, golden: i}
`))
}

// TestPreparedMistakes checks that the errors for mistakes in run.json have the position in
// the file and say how to correct the mistake.
func TestPreparedMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := Prepare(t.Context(), Options{Scenario: "probe_prepared"}, dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, choiceFile)
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const as = "{\n  \"scenario\": \"probe_prepared\",\n  \"nranks\": 2,\n  \"root\": 0,\n  \"rounds\": 1,\n  \"devices\": \"0,1\",\n  \"params\": {\n    \"mode\": \"a\"\n  }\n}\n"
	if string(written) != as {
		t.Fatalf("prepared %q, want %q", written, as)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"nranks": 2`, `"nranks": 7`, `:3:13: nranks: 7: the scenario is defined for 2 to 4 ranks`},
		{`"nranks": 2`, `"nranks": 65`, `:3:13: nranks: expected a whole number from 1 to 64, got 65`},
		{`"nranks": 2`, `"nranks": "2"`, `:3:13: nranks: expected a whole number from 1 to 64, got "2"`},
		{`"nranks": 2`, `"nranks": 2.5`, `:3:13: nranks: expected a whole number from 1 to 64, got 2.5`},
		{`"nranks": 2`, `"nranks": 2, "nranks": 3`, `:3:16: nranks: given twice: first on line 3, column 3; delete one`},
		{`"nranks": 2`, `"nranks": 2, "nrank": 2`, `:3:16: nrank: unknown key; known here: scenario, nranks, root, rounds, devices, bind, params; did you mean nranks?`},
		{`"nranks": 2,`, ``, `:1:1: nranks: missing: add a whole number from 1 to 64`},
		{`"root": 0`, `"root": 5`, `:4:11: root: 5: the ranks are 0 to 1`},
		{`"root": 0`, `"root": null`, `:4:3: root: no value: give a whole number from 0 to 63, or delete the key`},
		{`"rounds": 1`, `"rounds": 0`, `:5:13: rounds: expected a whole number from 1 to 10000000, got 0`},
		{`"rounds": 1`, `"rounds": 1, "Trusted": true`, `:5:16: Trusted: unknown key; known here: scenario, nranks, root, rounds, devices, bind, params`},
		{`"0,1"`, `"0,0"`, `:6:14: devices: 0,0: device 0 is there twice: each rank has a device of its own`},
		{`"0,1"`, `[0, 1]`, `:6:14: devices: expected a text, got a list`},
		{`"mode": "a"`, `"mode": "c"`, `:8:13: params.mode: c: write one of a, b`},
		{`"mode": "a"`, `"mood": "a"`, `:8:13: params.mood: mood: no parameter of scenario.yaml, which has mode`},
		{"}\n}\n", "}\n}\nand more", `:11:1: not JSON: invalid character 'a' after top-level value: mend it, or prepare the folder again`},
		{"}\n}\n", "}\n", `:9:4: not JSON: unexpected end of JSON input: mend it, or prepare the folder again`},
		{as, "", `:1:1: not JSON: unexpected end of JSON input: mend it, or prepare the folder again`},
		{as, "[1]", `:1:1: the file holds a list: write keys and values`},
	} {
		text := strings.Replace(as, tt.old, tt.new, 1)
		if text == as {
			t.Fatalf("%s is not in the file", tt.old)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for name, step := range map[string]func() (*Result, error){
			"execute": func() (*Result, error) { return Execute(t.Context(), dir, Options{Backend: Sim}) },
			"verify":  func() (*Result, error) { return Verify(t.Context(), dir) },
		} {
			_, err := step()
			var input *InputError
			if !errors.As(err, &input) {
				t.Errorf("%s: %s: got %v, want an *InputError", tt.new, name, err)
				continue
			}
			got, _, _ := strings.Cut(strings.ReplaceAll(err.Error(), dir+"/", ""), "\n") // without the excerpt
			if want := choiceFile + tt.want; got != want {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", tt.new, name, got, want)
			}
		}
	}
}

// FuzzPrepared checks that parsePrepared returns, for any text, either an error with the
// name of the file or a choice that does not change when it is written and parsed again.
func FuzzPrepared(f *testing.F) {
	f.Add(`{"scenario": "s", "nranks": 2, "rounds": 1}`)
	f.Add("{\n  \"scenario\": \"all_reduce\",\n  \"nranks\": 4,\n  \"root\": 3,\n  \"rounds\": 100,\n  \"devices\": \"0-3\",\n  \"params\": {\"mode\": \"ring\", \"count\": \"3\"}\n}\n")
	f.Add(`{"scenario": "s", "nranks": 2, "nranks": 3, "rounds": 1} {}`)
	f.Add(`{"scenario": 1, "nranks": "2", "rounds": -1, "params": {"a": 1, "b.c": null}, "more": []}`)
	f.Add("scenario: s\nnranks: 2\nrounds: 1\n")
	f.Add(`{"a": &x [*x], "\ud83d\ude00": "\u0000"}`)
	f.Add(strings.Repeat("[", 100))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePrepared("run.json", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "run.json:") {
				t.Errorf("%q: %v has no place", text, err)
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := parsePrepared("run.json", again)
		if err != nil {
			t.Fatalf("%q: %s: %v", text, again, err)
		}
		p.Mistake, q.Mistake = nil, nil
		one, _ := json.Marshal(p)
		two, _ := json.Marshal(q)
		if string(one) != string(two) {
			t.Errorf("%q: got %s, then %s", text, one, two)
		}
		if s, err := scenario.Load(t.Context(), "probe_prepared"); err == nil {
			s.Plan(context.Background(), p.Choice) // may return an error
		}
	})
}

// TestStagedBytes checks that memoryBytes includes the private memory from which staged
// buffers are copied.
func TestStagedBytes(t *testing.T) {
	bytes := func(staged string) uint64 {
		s, err := scenario.Parse("s.yaml", []byte(`summary: "a probe"
nranks: 3
domains: {some: [0, 2]}
buffers:
  - {name: x, dtype: f64, shape: [1000], placement: window, init: i, domain: some`+staged+`}
kernel: {name: probe_prepared_a, args: [x, 0]}
outputs:
  - {buffer: x, golden: i}
`))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan(t.Context(), scenario.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		return memoryBytes(plan)
	}
	if got, want := bytes(", staged: true"), bytes("")+2*8000; got != want {
		t.Errorf("%d bytes, want %d: 8000 more for each of two members", got, want)
	}
}
