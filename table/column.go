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
	Unit  Unit   `json:"unit,omitempty"` // unit of its numbers; "" for none
	Role  Role   `json:"role,omitempty"`
	Label string `json:"label,omitempty"` // the name in words; "": derived from Name
}

// Role is the purpose of a column's cells.
type Role string

// The roles. The zero value means that the file does not give a role.
const (
	Setting Role = "setting" // identifies what was measured
	Lower   Role = "lower"   // measured; less is better
	Higher  Role = "higher"  // measured; more is better
	Result  Role = "result"  // measured or computed; neither less nor more is better
	Bound   Role = "bound"   // computed; a bound on a measured column
	Check   Role = "check"   // true if values are correct, or the number of wrong values
	Origin  Role = "origin"  // version or hash of the program or configuration that made the row
)

var roles = []Role{Setting, Lower, Higher, Result, Bound, Check, Origin}

// check returns an error if the role of a column is not known.
func (c Column) check() error {
	if c.Role != "" && !slices.Contains(roles, c.Role) {
		return fmt.Errorf("column %q has the role %q: write one of %v", c.Name, c.Role, roles)
	}
	return nil
}

// memberOf matches prefixes of column names that name a part of a file.
var memberOf = regexp.MustCompile(`^((params|metrics|row|point)\.)+`)

// Words returns the label of the column or, if there is none, its name in words, without
// the unit: "latency" for latency_ns. For a key such as "system.sips.link.bandwidth" it
// uses the last two parts: "link bandwidth".
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

// Title returns the result of Words followed by the unit: "time (µs)".
func (c Column) Title() string {
	if c.Unit == "" {
		return c.Words()
	}
	return fmt.Sprintf("%s (%s)", c.Words(), c.Unit)
}

// Unit is a unit of numbers: "ns", "B", "GB/s". A unit that the package does not know is
// only a label.
type Unit string

// unit describes a unit that the package knows.
type unit struct {
	quantity string  // the quantity that it measures
	size     float64 // its size, in the base unit of the quantity
	suffix   string  // suffix of the names of columns with the unit; "" for none
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

// scales has the units among which Suit chooses, by quantity, the largest first. Numbers of
// other quantities, such as bandwidths, keep their unit.
var scales = map[string][]Unit{
	"time": {"s", "ms", "µs", "ns", "ps", "fs"},
	"data": {"TiB", "GiB", "MiB", "KiB", "B"},
}

// Same reports whether u and v are equal or measure the same quantity, so that numbers of
// both units can be on one axis.
func (u Unit) Same(v Unit) bool {
	return u == v || units[u].quantity != "" && units[u].quantity == units[v].quantity
}

// To returns the factor that converts numbers of unit u to unit v, which must measure the
// same quantity.
func (u Unit) To(v Unit) float64 {
	if u == v {
		return 1
	}
	return units[u].size / units[v].size
}

// Suit returns the unit in which the number v of unit u reads best: the largest unit of the
// same quantity in which the number is at least 1. If there is none, it returns the
// smallest unit of the quantity. It returns u for 0, and if u has no larger or smaller
// units.
func (u Unit) Suit(v float64) Unit {
	scale := scales[units[u].quantity]
	for _, unit := range scale {
		if math.Abs(v)*u.To(unit) >= 1-1e-9 {
			return unit
		}
	}
	if len(scale) == 0 || v == 0 {
		return u
	}
	return scale[len(scale)-1]
}

// Scales reports whether Format converts numbers of unit u to the unit of Suit. This is so
// for times and sizes of data.
func (u Unit) Scales() bool { return scales[units[u].quantity] != nil }

// Format returns the number v with its unit, rounded to four digits: "1.5 µs". It first
// converts times and sizes of data to the unit that Suit returns.
func (u Unit) Format(v float64) string {
	best := u.Suit(v)
	text := strconv.FormatFloat(v*u.To(best), 'g', 4, 64)
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(x, 'f', -1, 64) // without an exponent
	}
	if best == "" {
		return text
	}
	return text + " " + string(best)
}

var quantityText = regexp.MustCompile(`^([-+]?[0-9.]+(?:e[-+]?[0-9]+)?) ?([A-Za-zµ%][A-Za-zµ/]*)$`)

// parseQuantity parses a text such as "64 GB/s" or "4KiB" into a number and a unit. ok is
// false if the text has another form or the unit is not known.
func parseQuantity(text string) (x float64, u Unit, ok bool) {
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
