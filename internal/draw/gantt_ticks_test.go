package draw

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// TestTimeTicks checks the ticks and the unit of time axes.
func TestTimeTicks(t *testing.T) {
	tests := []struct {
		end  simtime.Time
		most int
		want string
	}{
		{0, 5, "0 ns"},
		{1, 5, "0 1 fs"},
		{10, 1, "0 10 fs"},
		{12_400 * simtime.Nanosecond, 5, "0 5 10 µs"},
		{12_400 * simtime.Nanosecond, 7, "0 2 4 6 8 10 12 µs"},
		{simtime.Microsecond, 5, "0 0.2 0.4 0.6 0.8 1 µs"},
		{999 * simtime.Nanosecond, 5, "0 200 400 600 800 ns"},
		{simtime.Never, 1, "0 5000 s"},
	}
	for _, tt := range tests {
		ticks, unit := timeTicks(tt.end, tt.most)
		var got strings.Builder
		for _, tick := range ticks {
			got.WriteString(tick.text + " ")
		}
		got.WriteString(unit)
		if got.String() != tt.want {
			t.Errorf("timeTicks(%v, %d): got %q, want %q", tt.end, tt.most, got.String(), tt.want)
		}
	}
}

// TestTimeTicksReach checks the ticks of random time axes. The step must be round and the
// same between all ticks. There must be as many steps as possible, but no more than the
// limit. The last tick must be less than a step from the end.
func TestTimeTicksReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := simtime.Time(rapid.Int64Range(1, int64(simtime.Never)).Draw(t, "end"))
		most := rapid.IntRange(1, 40).Draw(t, "most")
		ticks, _ := timeTicks(end, most)
		n := len(ticks) - 1
		// The worst case: steps of 2 are just too many, so that steps of 5 are used.
		if least := min((most+1)*2/5, int(end)); n < least || n > most {
			t.Errorf("timeTicks(%v, %d): got %d steps, want %d to %[2]d", end, most, n, least)
		}
		if n == 0 {
			return
		}
		step := ticks[1].at
		for i, tick := range ticks {
			if tick.at != step*simtime.Time(i) {
				t.Errorf("tick %d: at %v, want %v", i, tick.at, step*simtime.Time(i))
			}
		}
		if left := end - ticks[n].at; left < 0 || left >= step {
			t.Errorf("timeTicks(%v, %d): the last is at %v, want less than %v before the end", end, most, ticks[n].at, step)
		}
		if first := strings.Trim(fmt.Sprint(int64(step)), "0"); !strings.Contains("1 2 5", first) {
			t.Errorf("step: got %v, want 1, 2 or 5 times a power of ten", step)
		}
	})
}
