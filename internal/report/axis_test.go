package report

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/sim"
)

func TestTimeText(t *testing.T) {
	tests := []struct {
		time sim.Time
		want string
	}{
		{0, "0 ns"},
		{1, "1 fs"},
		{2500, "2.5 ps"},
		{999_999_999, "999.999999 ns"},
		{12_400 * sim.Nanosecond, "12.4 µs"},
		{sim.Millisecond + sim.Femtosecond, "1.000000000001 ms"},
		{sim.Never, "9223.372036854775807 s"},
	}
	for _, tt := range tests {
		if got := TimeText(tt.time); got != tt.want {
			t.Errorf("TimeText(%d fs): got %q, want %q", tt.time, got, tt.want)
		}
	}
}

func TestRounded(t *testing.T) {
	tests := []struct {
		time sim.Time
		want string
	}{
		{0, "0 ns"},
		{1, "1 fs"},
		{9999, "9.999 ps"},
		{10_004, "10 ps"},
		{10_005, "10.01 ps"},
		{95_034_999, "95.03 ns"},
		{257_550 * sim.Nanosecond, "257.6 µs"},
		{999_949_999, "999.9 ns"},
		{999_950_000, "1 µs"},
		{sim.Microsecond, "1 µs"},
		{1200 * sim.Second, "1200 s"},
		{sim.Never, "9223 s"},
	}
	for _, tt := range tests {
		if got := Rounded(tt.time); got != tt.want {
			t.Errorf("Rounded(%d fs): got %q, want %q", tt.time, got, tt.want)
		}
	}
}

// TestRoundedIsClose wants four digits at most that are within 0.05 % of the time, and
// the time itself where it has no more.
func TestRoundedIsClose(t *testing.T) {
	digits := func(n sim.Time) int { return len(strings.TrimRight(fmt.Sprint(int64(n)), "0")) }
	rapid.Check(t, func(t *rapid.T) {
		// Times of every length, half of them of few digits.
		exact := sim.Time(rapid.Int64Range(1, int64(sim.Never)).Draw(t, "time"))
		if rapid.Bool().Draw(t, "few digits") {
			exact = sim.Time(rapid.Int64Range(1, 99_999).Draw(t, "digits"))
			for range rapid.IntRange(0, 14).Draw(t, "zeros") {
				exact *= 10
			}
		}
		text := Rounded(exact)
		got := readTime(t, text)
		if off := max(got-exact, exact-got); off > exact/2000 {
			t.Errorf("Rounded(%d fs): got %q, which is %d fs off, want at most %d", exact, text, off, exact/2000)
		}
		if n := digits(got); n > 4 {
			t.Errorf("Rounded(%d fs): got %q of %d digits, want at most 4", exact, text, n)
		}
		if digits(exact) <= 4 && got != exact {
			t.Errorf("Rounded(%d fs): got %q, %d fs, want it exact", exact, text, got)
		}
	})
}

// readTime reads what [TimeText] writes.
func readTime(t *rapid.T, text string) sim.Time {
	number, unit, _ := strings.Cut(text, " ")
	whole, part, _ := strings.Cut(number, ".")
	for _, u := range timeUnits {
		if u.name == unit && len(part) <= u.places {
			fs, err := strconv.ParseInt(whole+part+strings.Repeat("0", u.places-len(part)), 10, 64)
			if err != nil {
				t.Fatalf("time %q: %v", text, err)
			}
			return sim.Time(fs)
		}
	}
	t.Fatalf("time %q: no such unit, or shorter than 1 fs", text)
	return 0
}

func TestTicks(t *testing.T) {
	tests := []struct {
		end  sim.Time
		most int
		want string
	}{
		{0, 5, "0 ns"},
		{1, 5, "0 1 fs"},
		{10, 1, "0 10 fs"},
		{12_400 * sim.Nanosecond, 5, "0 5 10 µs"},
		{12_400 * sim.Nanosecond, 7, "0 2 4 6 8 10 12 µs"},
		{sim.Microsecond, 5, "0 0.2 0.4 0.6 0.8 1 µs"},
		{999 * sim.Nanosecond, 5, "0 200 400 600 800 ns"},
		{sim.Never, 1, "0 5000 s"},
	}
	for _, tt := range tests {
		ticks, unit := Ticks(tt.end, tt.most)
		var got strings.Builder
		for _, tick := range ticks {
			got.WriteString(tick.Text + " ")
		}
		got.WriteString(unit)
		if got.String() != tt.want {
			t.Errorf("Ticks(%v, %d): got %q, want %q", tt.end, tt.most, got.String(), tt.want)
		}
	}
}

// TestTicksReach wants the steps to be round, evenly apart and no more than asked
// for, as many of such as there can be, and the last less than one from the end.
func TestTicksReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := sim.Time(rapid.Int64Range(1, int64(sim.Never)).Draw(t, "end"))
		most := rapid.IntRange(1, 40).Draw(t, "most")
		ticks, _ := Ticks(end, most)
		n := len(ticks) - 1
		// Steps of 5 rather than 2 are the farthest from those that would be too many.
		if least := min((most+1)*2/5, int(end)); n < least || n > most {
			t.Errorf("Ticks(%v, %d): got %d steps, want %d to %[2]d", end, most, n, least)
		}
		if n == 0 {
			return
		}
		step := ticks[1].At
		for i, tick := range ticks {
			if tick.At != step*sim.Time(i) {
				t.Errorf("tick %d: at %v, want %v", i, tick.At, step*sim.Time(i))
			}
		}
		if left := end - ticks[n].At; left < 0 || left >= step {
			t.Errorf("Ticks(%v, %d): the last is at %v, want less than %v before the end", end, most, ticks[n].At, step)
		}
		if first := strings.Trim(fmt.Sprint(int64(step)), "0"); !strings.Contains("1 2 5", first) {
			t.Errorf("step: got %v, want 1, 2 or 5 times a power of ten", step)
		}
	})
}
