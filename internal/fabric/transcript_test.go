package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kernbench/kernbench/topology"
)

// TestTranscripts runs the files of testdata: transfers over a few links, in both models.
//
//	links flit=256
//	64 10
//	256 5
//
// defines a network of two links, with bandwidths in GB/s and latencies in ns, and flits
// of 256 B.
//
//	send
//	a 0 compute 1024 0 1
//	b 1 comm 64 1
//
// sends two transfers. Transfer a starts at 0 ns in class compute and moves 1024 bytes over
// links 0 and 1; transfer b starts at 1 ns. The output shows what each link carries in the
// Train model, and when each transfer arrives in both models. -rewrite updates the output.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var net hops
		flit := flitSize
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "links":
				net = nil
				d.MaybeScanArgs(t, "flit", &flit)
				for _, line := range strings.Split(d.Input, "\n") {
					var bandwidth, latency int
					scan(t, d, line, &bandwidth, &latency)
					net = append(net, Hop{topology.BytesPerSec(bandwidth) * topology.GBps, Time(latency) * ns})
				}
				return ""
			case "send":
				return runTransfers(t, d, net, flit)
			}
			d.Fatalf(t, "no command %q: use links or send", d.Cmd)
			return ""
		})
	})
}

// scan parses the words of `line` into the variables that `to` points to. It fails the test
// at the position of d if the line does not match.
func scan(t *testing.T, d *datadriven.TestData, line string, to ...any) {
	if _, err := fmt.Sscan(line, to...); err != nil {
		d.Fatalf(t, "%q: %v", line, err)
	}
}

// runTransfers runs the transfers of a send command over net in both models and returns the
// output of the command.
func runTransfers(t *testing.T, d *datadriven.TestData, net hops, flit Bytes) string {
	var names []string
	var flows []flow
	for _, line := range strings.Split(d.Input, "\n") {
		var name, class string
		var at, bytes int
		scan(t, d, line, &name, &at, &class, &bytes)
		f := flow{Time(at) * ns, Transfer{Bytes: Bytes(bytes), Class: map[string]Class{"comm": Comm, "compute": Compute}[class]}}
		for _, word := range strings.Fields(line)[4:] {
			var link topology.LinkID
			scan(t, d, word, &link)
			f.Path = append(f.Path, link)
		}
		names, flows = append(names, name), append(flows, f)
	}
	type event struct {
		at   Time
		text string
	}
	var events []event
	trains := newWorld(net, Config{Fidelity: Train, Flit: flit}, slices.Clone(flows)...)
	trains.Observe(func(p Passage) {
		what := "carries"
		if p.Cut {
			what = "is cut short:"
		}
		text := fmt.Sprintf("link %d %s %v of %s to %v", p.Link, what, p.Bytes, [...]string{"comm", "compute"}[p.Class], p.End)
		if p.Start > p.Head {
			text += fmt.Sprintf(", which waited %v", p.Start-p.Head)
		}
		events = append(events, event{p.Start, text})
	})
	trains.run(t)
	flits := run(t, net, Config{Fidelity: Flit, Flit: flit}, slices.Clone(flows)...)
	for i, name := range names {
		events = append(events, event{trains.done[i], fmt.Sprintf("%s is there; by flits at %v", name, flits.done[i])})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "%10v  %s\n", e.at, e.text)
	}
	return out.String()
}
