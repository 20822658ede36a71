package printable

import "testing"

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"n_elem=8": "n_elem=8", "link.bandwidth=64 GB/s": "'link.bandwidth=64 GB/s'", "k=it's": `'k=it'\''s'`, "k=$(x)": "'k=$(x)'", "k=": "k=",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
