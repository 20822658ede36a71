package describe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Section is a part of a configuration. Its JSON has the keys of topology.yaml in the same
// order and nesting. Quantities become numbers, and the key ends in their unit:
//
//	bandwidth: 100 GB/s  "bandwidth_gbs": 100     null: unlimited
//	latency: 1.5 ns      "latency_ns": 1.5        exact to the femtosecond
//	size: 2 MiB          "size_bytes": 2097152
//	clock: 1 GHz         "clock_ghz": 1
//	pitch: 3 mm          "pitch_mm": 3
//	wire_delay: 1 ns/mm  "wire_delay_ns_per_mm": 1
//
// Optional keys that the file leaves out are left out here, too.
type Section struct{ part any }

// MarshalJSON encodes the part of the configuration.
func (s Section) MarshalJSON() ([]byte, error) { return []byte(jsonText(reflect.ValueOf(s.part))), nil }

// units holds, for each type of quantity, the suffix of keys and the number of decimal
// places between the unit of the suffix and the unit that the type counts in.
var units = map[reflect.Type]struct {
	suffix string
	places int
}{
	reflect.TypeFor[topology.BytesPerSec](): {"_gbs", 9},
	reflect.TypeFor[topology.Time]():        {"_ns", 6},
	reflect.TypeFor[topology.Bytes]():       {"_bytes", 0},
	reflect.TypeFor[topology.Hz]():          {"_ghz", 9},
	reflect.TypeFor[topology.Micrometres](): {"_mm", 3},
	reflect.TypeFor[topology.TimePerMM]():   {"_ns_per_mm", 6},
}

// jsonText encodes a value as JSON.
func jsonText(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var parts []string
	unit, measured := units[v.Type()]
	switch {
	case v.Type() == reflect.TypeFor[topology.BytesPerSec]() && v.Int() == int64(topology.Unlimited):
		return "null"
	case measured:
		return string(decimal(strconv.FormatInt(v.Int(), 10), unit.places))
	case v.Type() == reflect.TypeFor[topology.Site]():
		return fmt.Sprintf("%q", v.Interface())
	case v.Kind() == reflect.Struct:
		for _, k := range config.Keys(v.Type()) {
			if f := v.FieldByIndex(k.Index); k.Required || !f.IsZero() {
				parts = append(parts, fmt.Sprintf("%q:%s", jsonKey(k), jsonText(f)))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, jsonText(v.Index(i)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // the remaining values are counts, words and booleans
	}
	return string(text)
}

// jsonKey returns the key for JSON: the key of the file, followed by the suffix of its unit
// unless the key already ends in this suffix.
func jsonKey(k config.Key) string {
	t := k.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(k.Name, units[t].suffix) + units[t].suffix
}

// decimal returns the whole number in `digits` divided by 10 to the power of `places`,
// exactly.
func decimal(digits string, places int) json.Number {
	if short := places + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - places
	return json.Number(strings.TrimSuffix(digits[:point]+"."+strings.TrimRight(digits[point:], "0"), "."))
}

// product multiplies the factors exactly, however large the result is.
func product(factors ...int64) string {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, big.NewInt(f))
	}
	return p.String()
}

// linkNumbers is the numbers of a link. Millions of links share a few sets of numbers.
type linkNumbers struct {
	bandwidth         topology.BytesPerSec
	latency, overhead topology.Time // latency of the wire; overhead of the node that the link enters
}

// linkRow is the text before and after the name of a link.
type linkRow struct{ before, after string }

// WriteLinks writes the links as text, one line each. The names of links vary in length.
// They are at the end of the lines, so that the numbers before them are aligned and no line
// has to wait until all names are known.
func WriteLinks(ctx context.Context, w io.Writer, g *topology.Graph) error {
	line := func(bandwidth, latency, overhead string) string {
		return fmt.Sprintf("%14s  %12s  %12s  ", bandwidth, latency, overhead)
	}
	out := bufio.NewWriter(w)
	out.WriteString(line("bandwidth", "latency ns", "overhead ns") + "link\n") // Flush returns the errors of earlier writes
	return writeRows(ctx, out, g, "", func(n linkNumbers) linkRow {
		return linkRow{line(topology.Format(n.bandwidth), nanoseconds(n.latency), nanoseconds(n.overhead)), "\n"}
	})
}

// WriteMachine writes a machine as indented JSON with all its links, one line each. It does
// not collect the links first, because large systems have millions of them.
//
//	"links": [
//	  {"name": "host->sip0.io.pcie", "bandwidth_gbs": 63, "latency_ns": 150, "overhead_ns": 5},
//
// overhead_ns is the overhead of the node at the end of the link.
func WriteMachine(ctx context.Context, w io.Writer, m Machine, g *topology.Graph) error {
	var head bytes.Buffer
	if err := table.WriteJSON(&head, m); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head.Bytes(), []byte("\n}\n")))
	out.WriteString(",\n  \"links\": [\n")
	err := writeRows(ctx, out, g, ",\n", func(n linkNumbers) linkRow {
		gbs := "null"
		if n.bandwidth != topology.Unlimited {
			gbs = string(decimal(strconv.FormatInt(int64(n.bandwidth), 10), 9))
		}
		return linkRow{`    {"name": "`, fmt.Sprintf(`", "bandwidth_gbs": %s, "latency_ns": %s, "overhead_ns": %s}`, gbs, nanoseconds(n.latency), nanoseconds(n.overhead))}
	})
	if err != nil {
		return err
	}
	out.WriteString("\n  ]\n}\n")
	return out.Flush()
}

// writeRows writes a row for every link. The function `row` formats the numbers of a link,
// and the text `between` separates rows.
func writeRows(ctx context.Context, out *bufio.Writer, g *topology.Graph, between string, row func(linkNumbers) linkRow) error {
	const every = 4096 // number of links between checks of the context
	known := map[linkNumbers]linkRow{}
	for i, l := range g.Links() {
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n := linkNumbers{l.Bandwidth, l.Latency, g.Node(l.To).Overhead}
		r, ok := known[n]
		if !ok {
			r = row(n)
			known[n] = r
		}
		if i > 0 {
			out.WriteString(between)
		}
		out.WriteString(r.before)
		out.WriteString(g.LinkName(topology.LinkID(i)))
		if _, err := out.WriteString(r.after); err != nil {
			return err
		}
	}
	return out.Flush()
}

// nanoseconds formats a time as an exact decimal number of nanoseconds.
func nanoseconds(t topology.Time) string {
	return string(decimal(strconv.FormatInt(int64(t), 10), 6))
}
