package printable

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"öl 2×3 µs 東京 naïve e\u0301 😀": "öl 2×3 µs 東京 naïve e\u0301 😀",
		"a\u00a0b\u3000c \ufffd":       "a\u00a0b\u3000c \ufffd",
		"\x1b[31mred":                  `\x1b[31mred`,
		"bell\a, del\x7f, nul\x00":     `bell\x07, del\x7f, nul\x00`,
		"tab\tend\r\nnext":             `tab\tend\r\nnext`,
		"c1\u0085\u009b":               `c1\u0085\u009b`,
		"\u202eevil\u202c":             `\u202eevil\u202c`,
		"\u2066\u2067\u2068\u2069":     `\u2066\u2067\u2068\u2069`,
		"\u200e\u200f\u061c":           `\u200e\u200f\u061c`,
		"line\u2028paragraph\u2029":    `line\u2028paragraph\u2029`,
		"bad\xff\xc3":                  `bad\xff\xc3`,
		"surrogate\xed\xa0\x80":        `surrogate\xed\xa0\x80`,
		"tag\U000e0001, private\ue000": `tag\U000e0001, private\ue000`,
		`C:\x1b`:                       `C:\x1b`, // a backslash is not escaped
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q): got %q, want %q", text, got, want)
		}
	}
	if got, want := Text("a\tb\nc\x1b\n"), "a\\tb\nc\\x1b\n"; got != want {
		t.Errorf("Text: got %q, want %q", got, want)
	}
}

// TestWriter checks that the output of a Writer does not depend on how the text is divided
// into writes. It also checks that the output is printable, and that escaping it again
// changes nothing.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		var got strings.Builder
		w := &Writer{W: &got}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := w.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d bytes, error %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := Text(text); got.String() != want {
			t.Fatalf("%q is written as %q, want %q", text, got.String(), want)
		}
		if !utf8.ValidString(got.String()) || strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && !Is(r) }) {
			t.Fatalf("%q is written as %q, which is not printable", text, got.String())
		}
		if Text(got.String()) != got.String() {
			t.Fatalf("%q is escaped twice", text)
		}
	})
}

// TestPlain checks that Text returns printable text without allocating memory.
func TestPlain(t *testing.T) {
	text := strings.Repeat("latency_ns 2×3 µs\n", 100)
	if n := testing.AllocsPerRun(10, func() { Text(text) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
