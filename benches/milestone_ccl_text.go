package benches

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/reference"
)

// What the figures show, in numbers of the points.

// size is that of an addend.
func (p *cclPoint) size() string { return draw.Bytes(float64(p.row.BytesPerPE)) }

// overBound is how many times the bound the latency is.
func (p *cclPoint) overBound() float64 { return float64(p.row.Latency) / float64(p.row.Bound) }

// latencyText is a paragraph for each system.
func latencyText(systems [][]cclPoint) string {
	var paragraphs []string
	for _, s := range systems {
		first, last := s[0], s[len(s)-1]
		paragraphs = append(paragraphs, fmt.Sprintf("On a %v, latency rises from %.2f µs for %s on each PE to %.2f µs for %s: %.1f and %.1f times the bound.",
			first.at, micros(first.row.Latency), first.size(), micros(last.row.Latency), last.size(), first.overBound(), last.overBound()))
	}
	if text := sameText(systems); text != "" {
		paragraphs = append(paragraphs, text)
	}
	return strings.Join(paragraphs, "\n\n")
}

// sameText says which systems take the same time, and up to which size: their lines
// hide each other.
func sameText(systems [][]cclPoint) string {
	var sentences []string
	for i, a := range systems {
		for _, b := range systems[:i] {
			same := 0
			for same < len(a) && a[same].row.Latency == b[same].row.Latency {
				same++
			}
			if same > 0 {
				sentences = append(sentences, fmt.Sprintf("%s and %s take the same time up to %s.", b[0].at.shape, a[0].at.shape, a[same-1].size()))
			}
		}
	}
	return strings.Join(sentences, " ")
}

// bufferText compares the memories with the first.
func bufferText(kinds [][]cclPoint) string {
	var sentences []string
	for _, s := range kinds[1:] {
		var sizes []string
		for i, p := range s {
			more := float64(p.row.Latency)/float64(kinds[0][i].row.Latency) - 1
			sizes = append(sizes, fmt.Sprintf("%+.1f %% for %s", 100*more, p.size()))
		}
		sentences = append(sentences, fmt.Sprintf("Beside slots in %s, those in %s change latency by %s.",
			memoryName(kinds[0][0].kind), memoryName(s[0].kind), strings.Join(sizes, ", ")))
	}
	return strings.Join(sentences, " ")
}

// fsimText says how far the external figure is from ours, and that it means little.
func fsimText(r *reference.Reference, systems [][]cclPoint) string {
	last, us := systems[0][len(systems[0])-1], r.Number(0, "latency_us")
	least, most := last.row.Latency, last.row.Latency
	for _, s := range systems {
		least, most = min(least, s[len(s)-1].row.Latency), max(most, s[len(s)-1].row.Latency)
	}
	return fmt.Sprintf("FSIM says %g µs: %s With %s on each PE the model takes %.2f to %.2f µs, but what FSIM did in its time is not known. "+
		"The figure puts two numbers side by side and does not say that one machine is faster than the other.",
		us, fsimKnown(r), last.size(), micros(least), micros(most))
}

// fsimKnown is what is known of the external figure, and what is not.
func fsimKnown(r *reference.Reference) string {
	return strings.Join(r.About, "; ") + ". Not known: " + strings.Join(r.Unknown, "; ") + "."
}
