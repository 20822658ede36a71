package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
)

// quantity is what a column measures, by its name.
type quantity struct {
	kind   string               // the end of names that tells it; empty for plain numbers
	label  string               // the name without its unit, in words if it has one
	unit   string               // of numbers that have no other
	size   float64              // of the unit, in the smallest of units
	units  []unit               // that numbers can be told in
	format func(float64) string // numbers with the unit that suits each; nil without units
}

// unit is a name for many of the smallest.
type unit struct {
	name string
	size float64
}

var (
	timeUnits = []unit{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}
	byteUnits = []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
)

// quantities are told by how names end.
var quantities = []quantity{
	timeIn("_ns", 1),
	timeIn("_us", 1e3),
	timeIn("_ms", 1e6),
	timeIn("_s", 1e9),
	{kind: "_bytes", size: 1, units: byteUnits, format: draw.Bytes},
	{kind: "_gbs", unit: "GB/s"},
	{kind: "_tflops", unit: "TFLOP/s"},
	{kind: "_ghz", unit: "GHz"},
	{kind: "_percent", unit: "%"},
}

func timeIn(kind string, ns float64) quantity {
	return quantity{kind: kind, size: ns, units: timeUnits, format: func(v float64) string { return draw.Nanoseconds(v * ns) }}
}

// aliases is columns without a unit in their names, and what they would be with one.
var aliases = map[string]string{"bytes": "size_bytes", "size": "size_bytes", "algbw": "algbw_gbs", "busbw": "busbw_gbs"}

// quantityOf reads the name of a column.
func quantityOf(column string) quantity {
	if name, ok := aliases[column]; ok {
		column = name
	}
	if strings.HasPrefix(column, "bytes_") { // bytes_per_pe
		column += "_bytes"
	}
	q := quantity{label: column}
	for _, known := range quantities {
		if before, ok := strings.CutSuffix(column, known.kind); ok && before != "" {
			q = known
			q.label = strings.ReplaceAll(before, "_", " ")
			break
		}
	}
	return q
}

// name is the label with the unit.
func (q quantity) name() string {
	if q.unit == "" {
		return q.label
	}
	return fmt.Sprintf("%s (%s)", q.label, q.unit)
}

// text is a number with its unit, or as it is written.
func (q quantity) text(v float64, written string) string {
	if q.format == nil {
		return written
	}
	return q.format(v)
}

// suit is the quantity with one unit for all numbers up to one, and the factor to it.
func (q quantity) suit(most float64) (quantity, float64) {
	for _, u := range q.units {
		if most*q.size >= u.size {
			factor := q.size / u.size
			return quantity{label: q.label, unit: u.name}, factor
		}
	}
	return q, 1
}

// axis is that of numbers, and the factor to what it counts in: a logarithmic one has
// the unit at each tick, a linear one has the same unit for all.
func (q quantity) axis(values []float64, log bool) (draw.Axis, float64) {
	factor := 1.0
	if !log {
		q, factor = q.suit(slices.Max(values))
	}
	return draw.Axis{Label: q.label, Unit: q.unit, Log: log, Format: q.format}, factor
}

// together is the quantity of several columns with the same unit.
func together(names []string) quantity {
	q := quantityOf(names[0])
	var labels []string
	for _, name := range names {
		labels = append(labels, quantityOf(name).label)
	}
	q.label = strings.Join(labels, ", ")
	return q
}

// oneUnit refuses columns that no axis could be right for.
func oneUnit(names []string) error {
	for _, name := range names[1:] {
		if quantityOf(name).kind != quantityOf(names[0]).kind {
			return fmt.Errorf("-y: %s and %s have different units: draw a picture of each", names[0], name)
		}
	}
	return nil
}
