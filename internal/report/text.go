package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// quantity is a value as topology.yaml would write it: "128 GB/s".
func quantity(v any) string { return topology.Scalars()[reflect.TypeOf(v)].Format(v) }

// optional is a bandwidth, and unlimited where it is nil.
func optional(bw *topology.BytesPerSec) string {
	if bw == nil {
		return "unlimited"
	}
	return quantity(*bw)
}

// class is the numbers of a kind of link.
func (c LinkClass) class() string {
	text := optional(c.Bandwidth) + " each way"
	if c.LatencyNS != nil {
		text += ", " + c.LatencyNS.String() + " ns"
	}
	if c.Count > 1 {
		text += fmt.Sprintf(", %d parallel", c.Count)
	}
	return text
}

// binary and decimal are the prefixes of sizes and of rates.
var (
	binary  = prefixes{1024, []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}}
	decimal = prefixes{1000, []string{"", "k", "M", "G", "T", "P", "E"}}
)

type prefixes struct {
	step  float64
	names []string
}

// scale writes a large number with the prefix that leaves a few digits before
// the point: for sums, which may exceed any integer type.
func (p prefixes) scale(n json.Number, unit string) string {
	x, err := n.Float64()
	if err != nil {
		panic(fmt.Sprintf("report: %q is no number", n)) // product writes digits only
	}
	i := 0
	for ; x >= p.step && i < len(p.names)-1; i++ {
		x /= p.step
	}
	return fmt.Sprintf("%.5g %s%s", x, p.names[i], unit)
}

// count is a number of things: "1 cube", "2 cubes".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// alike names n identical siblings at once: "cube0 … cube15: 16 alike".
func (m Machine) alike(name string, n int) string {
	switch {
	case n == 1:
		return name + "0"
	case len(m.Overrides) > 0:
		return fmt.Sprintf("%s0 … %s%d: %d alike but for overrides", name, name, n-1, n)
	}
	return fmt.Sprintf("%s0 … %s%d: %d alike", name, name, n-1, n)
}

// hbm is an amount of memory and what it delivers.
func hbm(size json.Number, rate *json.Number) string {
	if rate == nil {
		return "HBM " + binary.scale(size, "B") + ", unlimited bandwidth"
	}
	return "HBM " + binary.scale(size, "B") + " at " + decimal.scale(*rate, "B/s")
}

// branch is a line of a tree and what hangs below it.
type branch struct {
	text string
	sub  []branch
}

// leaf is a line of a component and its numbers, without those that are empty.
func leaf(name string, facts ...string) branch {
	kept := facts[:0]
	for _, f := range facts {
		if f != "" {
			kept = append(kept, f)
		}
	}
	return branch{text: name + ": " + strings.Join(kept, ", ")}
}

// write draws the branch and those below it, each line after an indent.
func (b branch) write(w *strings.Builder, first, rest string) {
	w.WriteString(first + b.text + "\n")
	for i, s := range b.sub {
		if i == len(b.sub)-1 {
			s.write(w, rest+"└─ ", rest+"   ")
		} else {
			s.write(w, rest+"├─ ", rest+"│  ")
		}
	}
}
