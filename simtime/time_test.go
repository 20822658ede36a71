package simtime

import (
	"encoding/json"
	"math"
	"testing"
)

// TestTimeRoundTrip checks that a time that is formatted and parsed again is the same to
// the femtosecond. It also checks the errors for texts that are not times.
func TestTimeRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		time Time
		unit Time
		text string
	}{
		{0, Nanosecond, "0"},
		{1, Nanosecond, "0.000001"},
		{-1500 * Picosecond, Nanosecond, "-1.5"},
		{12*Nanosecond + 500*Picosecond, Microsecond, "0.0125"},
		{1, Microsecond, "0.000000001"},
		{7, Femtosecond, "7"},
		{math.MaxInt64, Nanosecond, "9223372036854.775807"},
		{math.MinInt64, Microsecond, "-9223372036.854775808"},
	} {
		if got := string(tt.time.AppendIn(nil, tt.unit)); got != tt.text {
			t.Errorf("%d fs: %s, want %s", tt.time, got, tt.text)
		}
		if got, err := ParseTime(tt.text, tt.unit); got != tt.time || err != nil {
			t.Errorf("%s: %d fs, %v, want %d", tt.text, got, err, tt.time)
		}
	}
	for text, want := range map[string]string{
		"1.0000001":      "1.0000001 is not a whole number of femtoseconds",
		"":               `"" is no time: write a decimal number`,
		"1e3":            `"1e3" is no time: write a decimal number`,
		"1.-5":           `"1.-5" is no time: write a decimal number`,
		"99999999999999": `"99999999999999" is no time: write a decimal number`,
	} {
		if got, err := ParseTime(text, Nanosecond); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	var back struct{ T Time }
	if err := json.Unmarshal([]byte(`{"T":2.5}`), &back); err != nil || back.T != 2500*Picosecond {
		t.Errorf("2.5 as JSON: %v, %v", back.T, err)
	}
}
