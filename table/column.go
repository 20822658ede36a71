package table

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name  string `json:"name"`
	Unit  Unit   `json:"unit,omitempty"` // of its numbers; "" if they have none
	Role  Role   `json:"role,omitempty"`
	Label string `json:"label,omitempty"` // the name in words, if underscores are not enough
}

// Role says what the cells of a column are for.
type Role string

// The roles. The zero value is a column of a file that does not say.
const (
	Setting Role = "setting" // tells what a row is about
	Lower   Role = "lower"   // measured, less is better
	Higher  Role = "higher"  // measured, more is better
	Result  Role = "result"  // measured or computed, neither better nor worse
	Bound   Role = "bound"   // computed: what a measured column is compared with
	Check   Role = "check"   // true if values are right, or the number of wrong ones
	Origin  Role = "origin"  // version or hash of what made the row
)

var roles = []Role{Setting, Lower, Higher, Result, Bound, Check, Origin}

// check reports what is wrong with a column that a file or a program declares.
func (c Column) check() error {
	if c.Role != "" && !slices.Contains(roles, c.Role) {
		return fmt.Errorf("column %q has the role %q: write one of %v", c.Name, c.Role, roles)
	}
	return nil
}

// memberOf matches the part of a file that a column is from, before its own name.
var memberOf = regexp.MustCompile(`^((params|metrics|row|point)\.)+`)

// Words returns the name of the column in words, without its unit: of a key such as
// "system.sips.link.bandwidth" the last two, "link bandwidth".
func (c Column) Words() string {
	if c.Label != "" {
		return c.Label
	}
	name := c.Name
	if suffix := units[c.Unit].suffix; suffix != "" {
		name = strings.TrimSuffix(name, suffix)
	}
	keys := strings.Split(memberOf.ReplaceAllString(name, ""), ".")
	name = strings.Join(keys[max(0, len(keys)-2):], " ")
	return strings.NewReplacer("_", " ", "-", " ").Replace(name)
}

// Title returns the name in words with the unit: "time (µs)".
func (c Column) Title() string {
	if c.Unit == "" {
		return c.Words()
	}
	return fmt.Sprintf("%s (%s)", c.Words(), c.Unit)
}

// Unit is a unit of numbers: "ns", "B", "GB/s". Units that the package does not know are
// labels alone.
type Unit string

// unit is what is known of a unit: the quantity that it measures, how many of the smallest
// unit of that quantity it has, and how names of columns end that have it.
type unit struct {
	quantity string
	size     float64
	suffix   string
}

var units = map[Unit]unit{
	"fs": {"time", 1e-6, ""}, "ps": {"time", 1e-3, "_ps"}, "ns": {"time", 1, "_ns"}, "µs": {"time", 1e3, "_us"}, "ms": {"time", 1e6, "_ms"}, "s": {"time", 1e9, "_s"},
	"B": {"data", 1, "_bytes"}, "KiB": {"data", 1 << 10, ""}, "MiB": {"data", 1 << 20, ""}, "GiB": {"data", 1 << 30, ""}, "TiB": {"data", 1 << 40, ""},
	"B/s": {"bandwidth", 1, ""}, "KB/s": {"bandwidth", 1e3, ""}, "MB/s": {"bandwidth", 1e6, ""}, "GB/s": {"bandwidth", 1e9, "_gbs"}, "TB/s": {"bandwidth", 1e12, ""},
	"MFLOP/s": {"arithmetic", 1e6, ""}, "GFLOP/s": {"arithmetic", 1e9, "_gflops"}, "TFLOP/s": {"arithmetic", 1e12, "_tflops"},
	"Hz": {"frequency", 1, ""}, "MHz": {"frequency", 1e6, ""}, "GHz": {"frequency", 1e9, "_ghz"},
	"µm": {"length", 1e-3, ""}, "mm": {"length", 1, "_mm"},
	"%": {"share", 1, "_percent"},
}

// ladders are the units that a quantity is told in, the largest first. Bandwidths stay in
// the unit that they are declared in.
var ladders = map[string][]Unit{
	"time": {"s", "ms", "µs", "ns", "ps", "fs"},
	"data": {"TiB", "GiB", "MiB", "KiB", "B"},
}

// Same reports whether numbers of two units can be drawn on one axis.
func (u Unit) Same(v Unit) bool {
	return u == v || units[u].quantity != "" && units[u].quantity == units[v].quantity
}

// To returns the factor from numbers of the unit to those of another of the same quantity.
func (u Unit) To(v Unit) float64 {
	if u == v {
		return 1
	}
	return units[u].size / units[v].size
}

// Suit returns the unit of the same quantity that a number reads best in: the largest that
// it has one of.
func (u Unit) Suit(v float64) Unit {
	ladder := ladders[units[u].quantity]
	for _, of := range ladder {
		if math.Abs(v)*u.To(of) >= 1-1e-9 {
			return of
		}
	}
	if len(ladder) == 0 || v == 0 {
		return u
	}
	return ladder[len(ladder)-1]
}

// Scales reports whether numbers of the unit are told in the unit that suits them: times and
// data are.
func (u Unit) Scales() bool { return ladders[units[u].quantity] != nil }

// Format returns a number with its unit, to four digits: "1.5 µs". Data and times are told
// in the unit that suits them.
func (u Unit) Format(v float64) string {
	of := u.Suit(v)
	text := strconv.FormatFloat(v*u.To(of), 'g', 4, 64)
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(x, 'f', -1, 64) // without an exponent
	}
	if of == "" {
		return text
	}
	return text + " " + string(of)
}

var quantityText = regexp.MustCompile(`^([-+]?[0-9.]+(?:e[-+]?[0-9]+)?) ?([A-Za-zµ%][A-Za-zµ/]*)$`)

// quantity reads a text such as "64 GB/s" or "4KiB".
func quantity(text string) (x float64, u Unit, ok bool) {
	m := quantityText.FindStringSubmatch(text)
	if m == nil {
		return 0, "", false
	}
	u = Unit(strings.Replace(m[2], "us", "µs", 1))
	if _, known := units[u]; !known {
		return 0, "", false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	return x, u, err == nil
}
