package describe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
)

// linkNumbers is what a link is apart from its name. Millions of links share a
// handful of them.
type linkNumbers struct {
	bandwidth         topology.BytesPerSec
	latency, overhead topology.Time // on the wire, and of the node entered
}

// linkRow is the text around the name of a link.
type linkRow struct{ before, after string }

// WriteLinks writes the links as text, a line each. Names, which vary in
// length, come last, so that nothing must be held back to align the numbers.
func WriteLinks(ctx context.Context, w io.Writer, g *topology.Graph) error {
	line := func(bandwidth, latency, overhead string) string {
		return fmt.Sprintf("%14s  %12s  %12s  ", bandwidth, latency, overhead)
	}
	out := bufio.NewWriter(w)
	out.WriteString(line("bandwidth", "latency ns", "overhead ns") + "link\n") // errors stay until Flush
	return writeRows(ctx, out, g, "", func(n linkNumbers) linkRow {
		return linkRow{line(quantity(n.bandwidth), ns(n.latency), ns(n.overhead)), "\n"}
	})
}

// WriteMachine writes a machine as indented JSON with all of its links, a line
// each, as they come: large systems have millions.
//
//	"links": [
//	  {"name": "host->sip0.io.pcie", "bandwidth_gbs": 63, "latency_ns": 150, "overhead_ns": 5},
//
// The overhead is that of the node entered.
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
		return linkRow{`    {"name": "`, fmt.Sprintf(`", "bandwidth_gbs": %s, "latency_ns": %s, "overhead_ns": %s}`, gbs, ns(n.latency), ns(n.overhead))}
	})
	if err != nil {
		return err
	}
	out.WriteString("\n  ]\n}\n")
	return out.Flush()
}

// writeRows writes a row for every link, with a text between them.
func writeRows(ctx context.Context, out *bufio.Writer, g *topology.Graph, between string, row func(linkNumbers) linkRow) error {
	const every = 4096 // links between looks at the context
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

// ns is a time in nanoseconds as an exact decimal.
func ns(t topology.Time) string {
	return string(decimal(strconv.FormatInt(int64(t), 10), 6))
}
