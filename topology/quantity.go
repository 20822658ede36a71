package topology

import (
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// quantity is the syntax of the values of a physical type: a decimal number and a unit,
// exact and within a range.
type quantity struct {
	name      string // in errors: "a size"
	example   string
	base      string // the base unit; a value must be a whole number of it
	units     []unit // largest first
	synonyms  map[string]string
	hints     []hint
	min, max  int64  // in the base unit
	rangeHint string // appended to the error of a value that is out of range
}

type unit struct {
	name  string
	scale int64 // in the base unit
}

// hint is the correction for a unit that is not accepted but often written.
type hint struct {
	unit *regexp.Regexp
	text string
}

var (
	size = &quantity{
		name: "a size", example: "2 MiB", base: "bytes", min: 1, max: 1 << 50,
		units: []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}},
		hints: []hint{{regexp.MustCompile(`^[kKMGT]B?$`), "memory is built in powers of two: write KiB, MiB, GiB or TiB"}},
	}
	bandwidth = &quantity{
		name: "a bandwidth", example: "128 GB/s", base: "bytes a second", min: 1, max: 1e17,
		rangeHint: "; unlimited is a link that takes no time",
		units:     []unit{{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}},
		hints: []hint{
			{regexp.MustCompile(`^[kKMGT]?i?(b/s|bps|bit.*)$`), "that counts bits: divide by 8 and write GB/s"},
			{regexp.MustCompile(`^[KMGT]iB/s$`), "bandwidths are decimal: 1 GB/s is 10⁹ bytes a second"},
		},
	}
	duration = &quantity{
		name: "a time", example: "150 ns", base: "femtoseconds", min: 0, max: 1e15,
		units:    []unit{{"s", 1e15}, {"ms", 1e12}, {"us", 1e9}, {"ns", 1e6}, {"ps", 1e3}, {"fs", 1}},
		synonyms: map[string]string{"µs": "us", "μs": "us"},
	}
	frequency = &quantity{
		name: "a clock", example: "1.5 GHz", base: "hertz", min: 1e6, max: 100e9,
		units: []unit{{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}},
	}
	distance = &quantity{
		name: "a distance", example: "2.5 mm", base: "micrometres", min: 0, max: 1e6,
		units:    []unit{{"mm", 1e3}, {"um", 1}},
		synonyms: map[string]string{"µm": "um", "μm": "um"},
	}
	wireDelay = &quantity{
		name: "a wire delay", example: "0.01 ns/mm", base: "femtoseconds a millimetre", min: 0, max: 1e9,
		units: []unit{{"ns/mm", 1e6}, {"ps/mm", 1e3}, {"fs/mm", 1}},
	}
)

// init defines the syntax of every type of a Spec that is written as one value.
func init() {
	s := config.Quantities
	defineQuantity[Bytes](s, size)
	defineQuantity[Time](s, duration)
	defineQuantity[Hz](s, frequency)
	defineQuantity[Micrometres](s, distance)
	defineQuantity[TimePerMM](s, wireDelay)
	config.Define(s, bandwidth.want()+" or unlimited", parseBandwidth, formatBandwidth)
	config.Define(s, "a router such as r3c0", parseSite, Site.String)
	config.DefineWords(s, Shapes)
	config.DefineWords(s, BufferKinds)
	config.DefineWords(s, Backpressures)
}

// Format formats a value of a type of this package as in a file: "128 GB/s".
func Format(v any) string { return config.Quantities[reflect.TypeOf(v)].Format(v) }

func defineQuantity[T ~int64](s config.Scalars, q *quantity) {
	config.Define(s, q.want(),
		func(text string) (T, error) { v, err := q.parse(text); return T(v), err },
		func(v T) string { return q.format(int64(v)) })
}

// want describes the syntax in errors: "a size such as 2 MiB".
func (q *quantity) want() string { return q.name + " such as " + q.example }

// decimal matches the number of a quantity, without its unit.
var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// exponent matches the text after the number 1 in 1e30 GB/s, where a unit should start.
var exponent = regexp.MustCompile(`^[eE][+-]?[0-9]`)

// parse parses a quantity and converts it to the base unit without rounding.
func (q *quantity) parse(text string) (int64, error) {
	number := text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
	unitName := strings.TrimLeft(text[len(number):], " ")
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%s is negative: write %s", text, q.want())
	case strings.Trim(number, ".") == "" || len(text) > 40:
		return 0, fmt.Errorf("%.40q is not %s: write a number and a unit, such as %s", text, q.name, q.example)
	case strings.HasPrefix(unitName, ","):
		return 0, fmt.Errorf("%s has a comma: write a decimal point, such as %s", text, q.example)
	case exponent.MatchString(unitName):
		return 0, fmt.Errorf("%s has an exponent: write the digits out with a fitting unit, such as %s", text, q.example)
	case !decimal.MatchString(number):
		return 0, fmt.Errorf("%s is not a decimal number: write it like %s", number, q.example)
	case unitName == "":
		return 0, q.needsUnit(number)
	}
	scale, err := q.scale(unitName)
	if err != nil {
		return 0, err
	}
	value, _ := new(big.Rat).SetString(number)
	value.Mul(value, new(big.Rat).SetInt64(scale))
	if !value.IsInt() {
		return 0, fmt.Errorf("%s is not a whole number of %s", text, q.base)
	}
	if v := value.Num(); v.Cmp(big.NewInt(q.min)) < 0 || v.Cmp(big.NewInt(q.max)) > 0 {
		return 0, fmt.Errorf("%s is out of range: %s is from %s to %s%s", text, q.name, q.format(q.min), q.format(q.max), q.rangeHint)
	}
	return value.Num().Int64(), nil
}

// needsUnit returns the error of a number without a unit. It suggests a unit: bytes for a
// size that is a whole number, and for other quantities the unit of the example. If the
// number is not valid in that unit, the error shows the example instead.
func (q *quantity) needsUnit(number string) error {
	_, unit, _ := strings.Cut(q.example, " ")
	if q == size && !strings.Contains(number, ".") {
		unit = "B"
	}
	if _, err := q.parse(number + " " + unit); err != nil {
		return fmt.Errorf("%s needs a unit: write %s", number, q.want())
	}
	return fmt.Errorf("%s needs a unit: write %s %s, for example", number, number, unit)
}

// scale returns the size of a unit in base units. For an unknown unit it returns an error
// that says which unit to write.
func (q *quantity) scale(name string) (int64, error) {
	if s, ok := q.synonyms[name]; ok {
		name = s
	}
	names := make([]string, len(q.units))
	for i, u := range q.units {
		if u.name == name {
			return u.scale, nil
		}
		names[len(names)-1-i] = u.name
	}
	for _, h := range q.hints {
		if h.unit.MatchString(name) {
			return 0, fmt.Errorf("unit %q: %s", name, h.text)
		}
	}
	return 0, fmt.Errorf("unknown unit %q; units of %s: %s%s", name, q.name, strings.Join(names, ", "), config.DidYouMean(name, names))
}

// format formats a value exactly. It uses the largest unit in which the value is at least 1
// and has at most three decimals.
func (q *quantity) format(v int64) string {
	if v < 0 {
		return "-" + q.format(-v)
	}
	_, usual, _ := strings.Cut(q.example, " ")
	text := "0 " + usual
	for _, u := range q.units {
		whole, rest := v/u.scale, v%u.scale
		if milli := new(big.Rat).SetFrac64(rest*1000, u.scale); whole > 0 && milli.IsInt() {
			fraction := strings.TrimRight(fmt.Sprintf(".%03d", milli.Num()), "0")
			return strconv.FormatInt(whole, 10) + strings.TrimSuffix(fraction, ".") + " " + u.name
		}
	}
	return text
}

func parseBandwidth(text string) (BytesPerSec, error) {
	if text == "unlimited" {
		return Unlimited, nil
	}
	v, err := bandwidth.parse(text)
	switch {
	case err == nil:
		return BytesPerSec(v), nil
	case config.Nearest(text, []string{"unlimited"}) != "":
		return 0, fmt.Errorf("%q is not a bandwidth; did you mean unlimited?", text)
	}
	return 0, err
}

func formatBandwidth(bw BytesPerSec) string {
	if bw == Unlimited {
		return "unlimited"
	}
	return bandwidth.format(int64(bw))
}

var sitePattern = regexp.MustCompile(`^r(0|[1-9][0-9]{0,2})c(0|[1-9][0-9]{0,2})$`)

func parseSite(text string) (s Site, err error) {
	if !sitePattern.MatchString(text) {
		return s, fmt.Errorf("%.40q is not a router: write row and column, such as r3c0", text)
	}
	_, err = fmt.Sscanf(text, "r%dc%d", &s.Row, &s.Col)
	return s, err
}

// String formats the site as in a file: "r3c0".
func (s Site) String() string { return fmt.Sprintf("r%dc%d", s.Row, s.Col) }
