package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// zoo is a configuration with mappings whose keys the user chooses.
type zoo struct {
	Rooms map[string]cache `yaml:"rooms,omitempty"`
	Ages  map[string]int   `yaml:"ages,omitempty" range:"0..200"`
}

// TestDecodeMap checks that mappings whose keys the user chooses are decoded, merged and
// encoded.
func TestDecodeMap(t *testing.T) {
	d, err := Parse("zoo.yaml", []byte("rooms:\n  big-room_2: {size: 20C, color: red}\nages: {rex: 3, ida: 0}\n"))
	if err != nil {
		t.Fatal(err)
	}
	d.Set("rooms.big-room_2.color=green")
	d.Set("rooms.a={size: 1C, color: red}")
	want := zoo{
		Rooms: map[string]cache{"big-room_2": {20, "green"}, "a": {1, "red"}},
		Ages:  map[string]int{"rex": 3, "ida": 0},
	}
	var got zoo
	if err := d.Decode(&got, testScalars); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	const text = "rooms:\n  a:\n    size: 1C\n    color: red\n  big-room_2:\n    size: 20C\n    color: green\nages:\n  ida: 0\n  rex: 3\n"
	if written := string(Encode(got, testScalars)); written != text {
		t.Errorf("encoded:\n%s\nwant:\n%s", written, text)
	}
}

// TestDecodeMapErrors checks the errors of mappings whose keys the user chooses, and that
// entries with invalid names are left out.
func TestDecodeMapErrors(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"ages: {}\nrooms: {}", nil},
		{"ages: [1]", []string{"zoo.yaml:1:7: ages: expected a mapping of names, each with a whole number, got a list"}},
		{"rooms:", []string{"zoo.yaml:1:1: rooms: no value: give a mapping of names, each with a mapping with the keys size, color, or delete the key"}},
		{"ages: {rex: 300, ida: old}", []string{
			"zoo.yaml:1:13: ages.rex: expected a whole number from 0 to 200, got 300",
			`zoo.yaml:1:23: ages.ida: expected a whole number from 0 to 200, got "old"`,
		}},
		{"rooms:\n  a: {size: 1C, colour: red}", []string{
			"zoo.yaml:2:3: rooms.a.color: missing: add one of red, green",
			"zoo.yaml:2:17: rooms.a.colour: unknown key; known here: size, color; did you mean color?",
		}},
		{"rooms:\n  a: {size: 1C, Paint: red}", []string{
			"zoo.yaml:2:3: rooms.a.color: missing: add one of red, green",
			"zoo.yaml:2:17: rooms.a.Paint: unknown key; known here: size, color; did you mean color?",
		}},
		{"ages: {Rex: 1, a.b: 2, a__b: -1, ab_: 3, _ab: 4, 'é': 5, '': 6}", []string{
			`zoo.yaml:1:8: ages.Rex: "Rex" is not a name: write lower-case words joined by _ or -, such as my_name_2`,
			`zoo.yaml:1:16: ages.a.b: "a.b" is not a name`,
			`zoo.yaml:1:24: ages.a__b: "a__b" is not a name`,
			"zoo.yaml:1:30: ages.a__b: expected a whole number from 0 to 200, got -1",
			`zoo.yaml:1:34: ages.ab_: "ab_" is not a name`,
			`zoo.yaml:1:42: ages._ab: "_ab" is not a name`,
			`zoo.yaml:1:50: ages.é: "é" is not a name`,
			`zoo.yaml:1:58: ages.: "" is not a name`,
		}},
		{"ages: {rex: 1, rex: 2}", []string{"zoo.yaml:1:16: ages.rex: given twice: first on line 1, column 8; delete one"}},
	} {
		d, err := Parse("zoo.yaml", []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		var errs Errors
		var got zoo
		if err := d.Decode(&got, testScalars); err != nil && !errors.As(err, &errs) {
			t.Fatal(err)
		}
		if len(errs) != len(c.want) {
			t.Errorf("%s: got %d errors, want %d:\n%v", c.src, len(errs), len(c.want), errs)
			continue
		}
		for i, e := range errs {
			if !strings.HasPrefix(e.Error(), c.want[i]) {
				t.Errorf("%s:\ngot  %v\nwant %s", c.src, e, c.want[i])
			}
		}
		for name := range got.Ages {
			if !namePattern.MatchString(name) {
				t.Errorf("%s: %q is in the map", c.src, name)
			}
		}
	}
}

// TestOnePreset checks Load and Parse with a set of presets that has only the preset
// default.
func TestOnePreset(t *testing.T) {
	t.Chdir(t.TempDir())
	p := Presets{"default": []byte("ages: {rex: 3}\n")}
	d, err := p.Load(t.Context(), "", "zoo.yaml", "ages.ida=4")
	if err != nil {
		t.Fatal(err)
	}
	var got zoo
	want := zoo{Ages: map[string]int{"rex": 3, "ida": 4}}
	if err := d.Decode(&got, testScalars); err != nil || !reflect.DeepEqual(got, want) || d.Name() != "preset default, --set ages.ida=4" {
		t.Errorf("%s: got %+v, %v; want %+v", d.Name(), got, err, want)
	}
	if _, err := p.Parse("child.yaml", []byte("extends: big\n")); err == nil || !strings.HasPrefix(err.Error(), `child.yaml:1:10: extends: no preset "big"; presets: default`) {
		t.Errorf("another preset: got %v", err)
	}
}
