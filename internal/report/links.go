package report

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/kernbench/kernbench/topology"
)

// linkEvery is how many links are written between looks at the context.
const linkEvery = 4096

// Links is every directed link of a system. Large ones have millions.
func Links(ctx context.Context, g *topology.Graph) ([]Link, error) {
	links := make([]Link, g.NumLinks())
	for i := range links {
		if i%linkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		links[i] = DescribeLink(g, topology.LinkID(i))
	}
	return links, nil
}

// WriteLinks writes the links as text, a line each. Names, which vary in
// length, come last, so that nothing must be held back to align the numbers.
func WriteLinks(ctx context.Context, w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	const line = "%14s  %12s  %12s  %s\n"
	if _, err := fmt.Fprintf(out, line, "bandwidth", "latency ns", "overhead ns", "link"); err != nil {
		return err
	}
	for i := range g.NumLinks() {
		if i%linkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := DescribeLink(g, topology.LinkID(i))
		if _, err := fmt.Fprintf(out, line, optional(l.Bandwidth), l.LatencyNS, l.OverheadNS, l.Name); err != nil {
			return err
		}
	}
	return out.Flush()
}
