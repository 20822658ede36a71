package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// Section is a part of a configuration. Its JSON has the keys of topology.yaml,
// nested alike and in that order, and numbers where the file has quantities: the
// unit is the end of the key.
//
//	bandwidth: 100 GB/s  "bandwidth_gbs": 100     null: unlimited
//	latency: 1.5 ns      "latency_ns": 1.5        exact to the femtosecond
//	size: 2 MiB          "size_bytes": 2097152
//	clock: 1 GHz         "clock_ghz": 1
//	pitch: 3 mm          "pitch_mm": 3
//	wire_delay: 1 ns/mm  "wire_delay_ns_per_mm": 1
//
// Keys that a file may leave out, and did, are left out here.
type Section struct{ part any }

// MarshalJSON writes the part.
func (s Section) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := writeValue(&b, reflect.ValueOf(s.part)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// units is the ends of keys, and how many decimal places a unit is above the one
// that the type counts in.
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

func writeValue(b *bytes.Buffer, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	unit, measured := units[v.Type()]
	switch {
	case v.Type() == reflect.TypeFor[topology.BytesPerSec]() && v.Int() == int64(topology.Unlimited):
		b.WriteString("null")
	case measured:
		b.WriteString(string(decimal(strconv.FormatInt(v.Int(), 10), unit.places)))
	case v.Type() == reflect.TypeFor[topology.Site]():
		fmt.Fprintf(b, "%q", v.Interface())
	case v.Kind() == reflect.Struct:
		return writeKeys(b, v)
	case v.Kind() == reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeValue(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default: // counts, words, true and false
		text, err := json.Marshal(v.Interface())
		b.Write(text)
		return err
	}
	return nil
}

func writeKeys(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	for _, k := range config.Keys(v.Type()) {
		f := v.FieldByIndex(k.Index)
		if !k.Required && f.IsZero() {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		fmt.Fprintf(b, "%q:", jsonKey(k))
		if err := writeValue(b, f); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// jsonKey is the key of the file with its unit, unless that is there already.
func jsonKey(k config.Key) string {
	t := k.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(k.Name, units[t].suffix) + units[t].suffix
}

// decimal is a whole number moved some places to the right of the point, exactly.
func decimal(digits string, places int) json.Number {
	if short := places + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - places
	return json.Number(strings.TrimSuffix(digits[:point]+"."+strings.TrimRight(digits[point:], "0"), "."))
}

// product is exact, whatever the size of a system.
func product(factors ...int64) string {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, big.NewInt(f))
	}
	return p.String()
}
