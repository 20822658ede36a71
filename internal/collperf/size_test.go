package collperf

import "testing"

// TestByteSize checks that sizes are parsed and formatted, and that other texts are errors.
func TestByteSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Size
		back string
	}{
		{"0", 0, "0"}, {"8", 8, "8"}, {"8B", 8, "8"}, {"1024", 1 << 10, "1K"}, {"4K", 4 << 10, "4K"}, {"4KiB", 4 << 10, "4K"}, {"4k", 4 << 10, "4K"},
		{"1536K", 1536 << 10, "1536K"}, {"1M", 1 << 20, "1M"}, {"3G", 3 << 30, "3G"}, {"2048G", 2 << 40, "2T"},
	} {
		var got Size
		if err := got.Set(tt.text); err != nil || got != tt.want || got.String() != tt.back {
			t.Errorf("%s: got %d, written %s, %v, want %d, written %s", tt.text, got, got.String(), err, tt.want, tt.back)
		}
	}
	for _, text := range []string{"", "K", "-8", "1.5M", "4KB", "8iB", "0x10", "99999999999999999999", "8388608T"} {
		var got Size
		if err := got.Set(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}
