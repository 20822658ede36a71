package config

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a configuration with a field of each kind.
type machine struct {
	Name  string   `yaml:"name"`
	Cores int      `yaml:"cores" range:"1..64"`
	Ways  int      `yaml:"ways,omitempty" oneof:"1 2 4"`
	Cache cache    `yaml:"cache"`
	Links []string `yaml:"links,omitempty"`
	Fast  bool     `yaml:"fast,omitempty"`
	Limit *int     `yaml:"limit,omitempty"`
}

type cache struct {
	Size  celsius `yaml:"size"`
	Color color   `yaml:"color" aka:"paint"`
}

type (
	celsius int
	color   string
)

var testScalars = func() Scalars {
	s := Scalars{}
	Define(s, "a temperature such as 20C", func(text string) (celsius, error) {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "C"))
		if err != nil || !strings.HasSuffix(text, "C") {
			return 0, errors.New("not a temperature: write 20C")
		}
		return celsius(n), nil
	}, func(c celsius) string { return strconv.Itoa(int(c)) + "C" })
	DefineWords(s, []color{"red", "green"})
	return s
}()

const good = `name: m
cores: 8
cache:
  size: 20C
  color: red
`

// TestDecode checks that Decode fills all kinds of fields and that Encode writes them back.
func TestDecode(t *testing.T) {
	d, err := Parse("m.yaml", []byte(good+"links: [a, b]\nfast: true\nlimit: -3\n"))
	if err != nil {
		t.Fatal(err)
	}
	limit := -3
	want := machine{Name: "m", Cores: 8, Cache: cache{20, "red"}, Links: []string{"a", "b"}, Fast: true, Limit: &limit}
	var got machine
	if err := d.Decode(&got, testScalars); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	text := string(Encode(got, testScalars))
	if wantText := good + "links:\n- a\n- b\nfast: true\nlimit: -3\n"; strings.ReplaceAll(text, "  - ", "- ") != wantText {
		t.Errorf("encoded:\n%s\nwant:\n%s", text, wantText)
	}
}

// TestDecodeErrors checks the position and the text of each kind of error.
func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"unknown key", good + "coers: 4\n", "m.yaml:6:1: coers: unknown key; known here: name, cores, ways, cache, links, fast, limit; did you mean cores?"},
		{"missing", "name: m\ncores: 1\ncache: {size: 1C}\n", "m.yaml:3:1: cache.color: missing: add one of red, green"},
		{"missing at the root", "name: m\ncache: {size: 1C, color: red}\n", `m.yaml:1:1: cores: missing: add a whole number from 1 to 64; or start the file with "extends: default"`},
		{"null", strings.Replace(good, "8", "~", 1), "m.yaml:2:1: cores: no value: give a whole number from 1 to 64, or delete the key"},
		{"range", strings.Replace(good, "8", "65", 1), "m.yaml:2:8: cores: expected a whole number from 1 to 64, got 65"},
		{"one of", good + "ways: 3\n", "m.yaml:6:7: ways: expected one of 1, 2, 4, got 3"},
		{"octal", strings.Replace(good, "8", "010", 1), "m.yaml:2:8: cores: expected a whole number from 1 to 64, got 010"},
		{"plus", strings.Replace(good, "8", "+8", 1), "m.yaml:2:8: cores: expected a whole number from 1 to 64, got +8"},
		{"number as text", strings.Replace(good, ": m", ": 5", 1), "m.yaml:1:7: name: expected a text, got 5"},
		{"text as bool", good + "fast: on\n", `m.yaml:6:7: fast: expected true or false, got "on"`},
		{"own syntax", strings.Replace(good, "20C", "20", 1), "m.yaml:4:9: cache.size: not a temperature: write 20C"},
		{"word", strings.Replace(good, "red", "Red", 1), `m.yaml:5:10: cache.color: unknown word "Red": write one of red, green; did you mean red?`},
		{"list item", good + "links: [a, [b]]\n", "m.yaml:6:12: links[1]: expected a text, got a list"},
		{"duplicate", good + "name: n\n", "m.yaml:6:1: name: given twice: first on line 1, column 1; delete one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Parse("m.yaml", []byte(c.src))
			if err != nil {
				t.Fatal(err)
			}
			var errs Errors
			if err := d.Decode(&machine{}, testScalars); !errors.As(err, &errs) || len(errs) != 1 {
				t.Fatalf("got %v, want one error", err)
			}
			first, _, _ := strings.Cut(errs[0].Error(), "\n")
			if first != c.want {
				t.Errorf("got  %s\nwant %s", first, c.want)
			}
		})
	}
}

// TestExtend checks that Extend merges a document over its base, that the base does not
// change, and that values keep their positions.
func TestExtend(t *testing.T) {
	parse := func(file, src string) *Doc {
		t.Helper()
		d, err := Parse(file, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := parse("base.yaml", good+"links: [a, b]\n")
	child := parse("child.yaml", "extends: base.yaml\ncache: {color: green}\nlinks: [c]\n")
	child.Extend(base)
	child.Set("cores=16")
	var got, untouched machine
	want := machine{Name: "m", Cores: 16, Cache: cache{20, "green"}, Links: []string{"c"}}
	if err := child.Decode(&got, testScalars); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	wantBase := machine{Name: "m", Cores: 8, Cache: cache{20, "red"}, Links: []string{"a", "b"}}
	if err := base.Decode(&untouched, testScalars); err != nil || !reflect.DeepEqual(untouched, wantBase) {
		t.Errorf("the base has become %+v, %v; want %+v", untouched, err, wantBase)
	}
	for path, place := range map[string]string{
		"cores": "--set", "cache.size": "base.yaml:4:9", "cache.color": "child.yaml:2:16", "cache": "child.yaml:2:1",
		"links[0]": "child.yaml:3:9", "links[7]": "child.yaml:3:1", "cache.none.at.all": "child.yaml:2:1",
	} {
		if got, _, _ := strings.Cut(child.Errorf(path, "x").Error(), ": "); got != place {
			t.Errorf("%s is placed at %s, want %s", path, got, place)
		}
	}
	if got := child.Latest("cache.size", "cache.color", "name"); got != "cache.color" {
		t.Errorf("the latest of base and child is %s, want cache.color", got)
	}
	if got := child.Latest("cache.color", "cores"); got != "cores" {
		t.Errorf("the latest of child and --set is %s, want cores", got)
	}
}

// TestErrorOrder checks that errors are in the order of the text, and that errors in the
// user's file come before errors in the files that it extends.
func TestErrorOrder(t *testing.T) {
	p := Presets{"default": []byte(good + "bad: 1\n")}
	d, err := p.Parse("child.yaml", []byte("worse: 1\nextends: default\ncores: many\nname: &n x\n"), "cache.size=warm")
	if err != nil {
		t.Fatal(err)
	}
	var errs Errors
	if err := d.Decode(&machine{}, testScalars); !errors.As(err, &errs) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range errs {
		got = append(got, e.File+":"+strconv.Itoa(e.Line)+" "+e.Path)
	}
	want := []string{"child.yaml:1 worse", "child.yaml:3 cores", "child.yaml:4 name", "preset default:6 bad", "--set:0 cache.size"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyMistakes checks that a text of a mebibyte with very many mistakes is decoded
// quickly and has at most MaxErrors errors.
func TestManyMistakes(t *testing.T) {
	var keys, items strings.Builder
	for i := range 80_000 {
		keys.WriteString("k" + strconv.Itoa(i) + ": 1, ")
		items.WriteString("[a], ")
	}
	for _, src := range []string{
		"{" + keys.String() + "}",
		good + "links: [" + items.String() + "]",
		good + "limit: {" + keys.String() + "}",
	} {
		d, err := Parse("m.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		var errs Errors
		if err := d.Decode(&machine{}, testScalars); !errors.As(err, &errs) || len(errs) > MaxErrors {
			t.Errorf("%.60s: %d errors, want 1 to %d", src, len(errs), MaxErrors)
		}
	}
}

// TestHostile checks that huge and malicious texts are refused quickly, with a position.
func TestHostile(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ name, src, want string }{
		{"brackets", strings.Repeat("[", mib), "m.yaml:1:65: nested more than 64 deep"},
		{"braces", strings.Repeat("{a: ", mib/4), "m.yaml:1:257: nested more than 64 deep"},
		{"dashes", strings.Repeat("- ", mib/2), "m.yaml:1:129: nested more than 64 deep"},
		{"question marks", strings.Repeat("? ", mib/2), "m.yaml:1:129: nested more than 64 deep"},
		{"ten million brackets", strings.Repeat("[", 10*mib), "m.yaml:1:1: the file has more than 1048576 bytes"},
		{"blank", strings.Repeat("\n", mib), "m.yaml:1:1: the file is empty"},
		{"byte order mark", "\ufeff", "m.yaml:1:1: the file is empty"},
		{"null", "~", "m.yaml:1:1: the file is empty"},
		{"aliases", strings.Repeat("*a : ", mib/5), "m.yaml:1:1: anchors and aliases are not supported"},
		{"long line", "a: " + strings.Repeat("x", mib/2) + ": 1", "m.yaml:1:524292: no key can stand here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("m.yaml", []byte(c.src))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes: the excerpt must be cut", len(err.Error()))
			}
		})
	}
}

// TestExcerpt checks that the caret is under the right column of lines with long or
// unprintable text.
func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		want   string
	}{
		{"a: é: 1", 4, "  7 | a: é: 1\n    |    ^"},
		{"\ta: 1\r", 5, "  7 |  a: 1\n    |     ^"},
		{"a\u202e: 1", 4, "  7 | a�: 1\n    |    ^"},
		{"a\x1b[1m", 9, "  7 | a�[1m\n    |      ^"},
		{strings.Repeat("x", 200), 100, "  7 | …" + strings.Repeat("x", 120) + "…\n    | " + strings.Repeat(" ", 61) + "^"},
	} {
		if got := excerpt("  7", c.line, c.column); got != c.want {
			t.Errorf("%q at %d: got\n%s\nwant\n%s", c.line, c.column, got, c.want)
		}
	}
}

// TestNearest checks which known word is suggested for a mistyped word.
func TestNearest(t *testing.T) {
	known := []string{"ring_1d", "torus_2d", "line", "m"}
	for word, want := range map[string]string{
		"ring": "ring_1d", "torus2d": "torus_2d", "LINE": "line", "lien": "line", "q": "", "M": "m", "": "", "hypercube": "",
		"ri": "", "lime": "line", "lite": "line", "mien": "", "tours_2": "torus_2d",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q: got %q, want %q", word, got, want)
		}
	}
	known = []string{"yaml", "svg", "--sip", "tcm", "sram", "hbm"}
	for word, want := range map[string]string{
		"xml": "", "png": "", "--kind": "", "hmb": "hbm", "json": "", "yml": "yaml", "--sips": "--sip", "dram": "sram", "rom": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q: got %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{"hmb": "; did you mean hbm?", "json": ""} {
		if got := DidYouMean(word, known); got != want {
			t.Errorf("did you mean of %q: got %q, want %q", word, got, want)
		}
	}
}
