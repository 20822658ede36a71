package simtime

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	tests := []struct {
		time Time
		want string
	}{
		{0, "0 ns"},
		{1, "1 fs"},
		{2500, "2.5 ps"},
		{999_999_999, "999.999999 ns"},
		{12_400 * Nanosecond, "12.4 µs"},
		{Millisecond + Femtosecond, "1.000000000001 ms"},
		{Never, "9223.372036854775807 s"},
	}
	for _, tt := range tests {
		if got := tt.time.Text(); got != tt.want {
			t.Errorf("Text of %d fs: got %q, want %q", tt.time, got, tt.want)
		}
	}
}

func TestRounded(t *testing.T) {
	tests := []struct {
		time Time
		want string
	}{
		{0, "0 ns"},
		{1, "1 fs"},
		{9999, "9.999 ps"},
		{10_004, "10 ps"},
		{10_005, "10.01 ps"},
		{95_034_999, "95.03 ns"},
		{257_550 * Nanosecond, "257.6 µs"},
		{999_949_999, "999.9 ns"},
		{999_950_000, "1 µs"},
		{Microsecond, "1 µs"},
		{1200 * Second, "1200 s"},
		{Never, "9223 s"},
	}
	for _, tt := range tests {
		if got := tt.time.Rounded(); got != tt.want {
			t.Errorf("Rounded of %d fs: got %q, want %q", tt.time, got, tt.want)
		}
	}
}

// TestRoundedIsClose checks that Rounded returns at most four digits and a number within
// 0.05 % of the time. A time of at most four digits must not change.
func TestRoundedIsClose(t *testing.T) {
	digits := func(n Time) int { return len(strings.TrimRight(fmt.Sprint(int64(n)), "0")) }
	rapid.Check(t, func(t *rapid.T) {
		// Times of every magnitude, half of them with few digits.
		exact := Time(rapid.Int64Range(1, int64(Never)).Draw(t, "time"))
		if rapid.Bool().Draw(t, "few digits") {
			exact = Time(rapid.Int64Range(1, 99_999).Draw(t, "digits"))
			for range rapid.IntRange(0, 13).Draw(t, "zeros") {
				exact *= 10
			}
		}
		text := exact.Rounded()
		got := readTime(t, text)
		if off := max(got-exact, exact-got); off > exact/2000 {
			t.Errorf("Rounded of %d fs: got %q, which is %d fs off, want at most %d", exact, text, off, exact/2000)
		}
		if n := digits(got); n > 4 {
			t.Errorf("Rounded of %d fs: got %q of %d digits, want at most 4", exact, text, n)
		}
		if digits(exact) <= 4 && got != exact {
			t.Errorf("Rounded of %d fs: got %q, %d fs, want it exact", exact, text, got)
		}
	})
}

// readTime parses the output of [Time.Text].
func readTime(t *rapid.T, text string) Time {
	number, name, _ := strings.Cut(text, " ")
	for _, u := range units {
		if u.Name == name {
			got, err := ParseTime(number, u.Size)
			if err != nil {
				t.Fatalf("time %q: %v", text, err)
			}
			return got
		}
	}
	t.Fatalf("time %q has no unit", text)
	return 0
}
