package describe

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// quantity is a value as topology.yaml would write it: "128 GB/s".
func quantity(v any) string { return topology.Scalars()[reflect.TypeOf(v)].Format(v) }

// class is the numbers that links of a kind share; without a latency, the wire
// decides.
func class(bw topology.BytesPerSec, latency *topology.Time, parallel int) string {
	text := quantity(bw) + " each way"
	if latency != nil {
		text += ", " + quantity(*latency)
	}
	if parallel > 1 {
		text += fmt.Sprintf(", %d parallel", parallel)
	}
	return text
}

// binary and decimals are the prefixes of sizes and of rates.
var (
	binary   = prefixes{1024, []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}}
	decimals = prefixes{1000, []string{"", "k", "M", "G", "T", "P", "E"}}
)

type prefixes struct {
	step  float64
	names []string
}

// scale writes a large number of units with the prefix that leaves a few digits
// before the point: for sums, which may exceed any integer type.
func (p prefixes) scale(n json.Number, unit float64, name string) string {
	x, err := n.Float64()
	if err != nil {
		panic(fmt.Sprintf("report: %q is no number", n)) // decimal writes nothing else
	}
	x *= unit
	i := 0
	for ; x >= p.step && i < len(p.names)-1; i++ {
		x /= p.step
	}
	return fmt.Sprintf("%.5g %s%s", x, p.names[i], name)
}

// rate is a peak, which may be beyond numbers.
func rate(n *json.Number, unit float64, name string) string {
	if n == nil {
		return "in no time"
	}
	return decimals.scale(*n, unit, name)
}

// alike names n identical siblings at once: "cube0 … cube15: 16 alike". Those
// that an override names one of are not quite.
func (m Machine) alike(name string, n int) string {
	if n == 1 {
		return name + "0"
	}
	text := fmt.Sprintf("%s0 … %s%d: %d alike", name, name, n-1, n)
	if slices.ContainsFunc(m.spec.Overrides, func(o topology.Override) bool { return strings.Contains(o.Link, name) }) {
		text += " but for overrides"
	}
	return text
}

// hbm is an amount of memory and what it delivers.
func hbm(size json.Number, gbs *json.Number) string {
	if gbs == nil {
		return "HBM " + binary.scale(size, 1, "B") + ", unlimited bandwidth"
	}
	return "HBM " + binary.scale(size, 1, "B") + " at " + decimals.scale(*gbs, 1e9, "B/s")
}

// branch is a line of a tree and what hangs below it.
type branch struct {
	text string
	sub  []branch
}

// leaf returns the line of a component and its numbers.
func leaf(name string, facts ...string) branch {
	return branch{text: name + ": " + strings.Join(facts, ", ")}
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
