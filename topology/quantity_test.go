package topology

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/config"
)

// TestQuantities checks the values that texts of quantities are parsed to.
func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		text string
		want any // the value, or -1 of its type for an error
	}{
		{"128 GB/s", 128 * GBps},
		{"128GB/s", 128 * GBps},
		{"0.5 GB/s", BytesPerSec(500_000_000)},
		{"1 B/s", BytesPerSec(1)},
		{"100000 TB/s", BytesPerSec(1e17)},
		{"unlimited", Unlimited},
		{"0.3 B/s", BytesPerSec(-1)},
		{"150 ns", Time(150_000_000)},
		{"0.000001ns", Time(1)},
		{"2 us", Time(2_000_000_000)},
		{"2 µs", Time(2_000_000_000)},
		{"2 μs", Time(2_000_000_000)},
		{"1 s", Time(1_000_000_000_000_000)},
		{"0 fs", Time(0)},
		{"0.1 fs", Time(-1)},
		{"1.000000000000001 s", Time(-1)},
		{"6 GiB", 6 * GiB},
		{"1.5 KiB", Bytes(1536)},
		{"1024 TiB", Bytes(1 << 50)},
		{"1025 TiB", Bytes(-1)},
		{"0 B", Bytes(-1)},
		{"1.5 B", Bytes(-1)},
		{"1.5 GHz", Hz(1_500_000_000)},
		{"1 MHz", Hz(1_000_000)},
		{"999999 Hz", Hz(-1)},
		{"100.1 GHz", Hz(-1)},
		{"2.5 mm", Micrometres(2500)},
		{"7um", Micrometres(7)},
		{"0 mm", Micrometres(0)},
		{"0.0001 mm", Micrometres(-1)},
		{"0.01 ns/mm", TimePerMM(10_000)},
		{"10 ps/mm", TimePerMM(10_000)},
		{"0 ns/mm", TimePerMM(0)},
		{"r3c0", Site{3, 0}},
		{"torus_2d", Torus2D},
		{"hbm", BufferHBM},
	} {
		scalar := config.Quantities[reflect.TypeOf(c.want)]
		got, err := scalar.Parse(c.text)
		if refused := !reflect.ValueOf(c.want).IsZero() && reflect.ValueOf(c.want).CanInt() && reflect.ValueOf(c.want).Int() < 0; refused {
			if err == nil {
				t.Errorf("%q as %T: got %v, want an error", c.text, c.want, got)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q as %T: got %v, %v; want %v", c.text, c.want, got, err, c.want)
		}
	}
}

// TestQuantityErrors checks the errors of invalid quantities.
func TestQuantityErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"128", "128 needs a unit: write 128 GB/s, for example"},
		{"0", "0 needs a unit: write a bandwidth such as 128 GB/s"},
		{"1e30 GB/s", "has an exponent"},
		{"NaN GB/s", "is not a bandwidth"},
		{".inf", "is not a bandwidth"},
		{"", "is not a bandwidth"},
		{"-1 GB/s", "-1 GB/s is negative"},
		{"1.2.3 GB/s", "1.2.3 is not a decimal number"},
		{"1,5 GB/s", "write a decimal point"},
		{"1_000 GB/s", `unknown unit "_000 GB/s"`},
		{"007 GB/s", "007 is not a decimal number"},
		{"100 Gbps", "counts bits"},
		{"100 GiB/s", "bandwidths are decimal"},
		{"100 gb/s", "did you mean GB/s?"},
		{"Unlimited", "did you mean unlimited?"},
		{strings.Repeat("9", 1<<20) + " GB/s", "is not a bandwidth"},
	} {
		v, err := parseBandwidth(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: got %v, %v; want an error with %q", c.text, v, err, c.want)
		}
	}
}

// TestNeedsUnit checks that the error of a number without a unit suggests a unit.
func TestNeedsUnit(t *testing.T) {
	for _, c := range []struct {
		q          *quantity
		text, want string
	}{
		{size, "4096", "4096 needs a unit: write 4096 B, for example"},
		{size, "1.5", "1.5 needs a unit: write 1.5 MiB, for example"},
		{size, "0", "0 needs a unit: write a size such as 2 MiB"},
		{duration, "0", "0 needs a unit: write 0 ns, for example"},
		{frequency, "1000000000", "1000000000 needs a unit: write a clock such as 1.5 GHz"},
	} {
		if _, err := c.q.parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s %s: got %v, want %s", c.q.name, c.text, err, c.want)
		}
	}
}

func TestQuantityRoundTrip(t *testing.T) {
	for _, q := range []*quantity{size, bandwidth, duration, frequency, distance, wireDelay} {
		rapid.Check(t, func(t *rapid.T) {
			v := rapid.Int64Range(q.min, q.max).Draw(t, q.name)
			text := q.format(v)
			if got, err := q.parse(text); err != nil || got != v {
				t.Fatalf("%d is written %q and read as %d, %v", v, text, got, err)
			}
		})
	}
}

func TestBytesString(t *testing.T) {
	for b, want := range map[Bytes]string{
		0: "0B", 1000: "1000B", 4 * KiB: "4KiB", 3 * MiB: "3MiB", 1023 * GiB: "1023GiB", 1024 * GiB: "1TiB", 1536 * GiB: "1536GiB", -2 * TiB: "-2TiB",
	} {
		if got := b.String(); got != want {
			t.Errorf("%d bytes are %s, want %s", int64(b), got, want)
		}
	}
}

func TestQuantityFormat(t *testing.T) {
	for _, c := range []struct {
		q    *quantity
		v    int64
		want string
	}{
		{bandwidth, 63e9, "63 GB/s"},
		{bandwidth, 12_345_678_000, "12345.678 MB/s"},
		{duration, 0, "0 ns"},
		{duration, 150e6, "150 ns"},
		{duration, 12_500, "12.5 ps"},
		{size, 3 << 29, "1.5 GiB"},
		{size, 1<<30 + 1, "1073741825 B"},
		{frequency, 1.5e9, "1.5 GHz"},
		{distance, 500, "500 um"},
		{wireDelay, 10_000, "10 ps/mm"},
	} {
		if got := c.q.format(c.v); got != c.want {
			t.Errorf("%s of %d: got %q, want %q", c.q.name, c.v, got, c.want)
		}
	}
}
