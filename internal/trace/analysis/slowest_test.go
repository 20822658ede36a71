package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/simtime"
)

// TestSlowest checks the comparison of the slowest PE with the median PE, where the slowest
// PE waits for a message.
func TestSlowest(t *testing.T) {
	r, err := message().read(t).Analyse(Whole, 10)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Slowest
	want := "sip0.cube0.pe1 ended last of 2 PEs, 10 ns after the median; " +
		"83% of its time its CPU waited for messages, longest for those from sip0.cube0.pe0. " +
		"The median PE, sip0.cube0.pe0, spent 58 ns less on waiting for messages"
	if s.Text != want {
		t.Errorf("got %s\nwant %s", s.Text, want)
	}
	got := fmt.Sprintf("%v %v", s.Took, s.MedianTook)
	for _, c := range s.CPU {
		got += fmt.Sprintf(", %s %v %.3f %v", c.What, c.Time, c.Share, c.Median)
	}
	got += fmt.Sprint(", ", s.From)
	wantNumbers := "70.000001ns 60ns, wait: message 58ns 0.829 0ns, run 12.000001ns 0.171 10ns, [{message sip0.cube0.pe0 58ns}]"
	if got != wantNumbers {
		t.Errorf("got %s\nwant %s", got, wantNumbers)
	}
}

// TestSlowestOfMany checks the slowest of three PEs that end one after another and wait for
// several peers. Other launches run before and after the launch.
func TestSlowestOfMany(t *testing.T) {
	b := newBuilder()
	pes := []string{"pe0", "pe1", "pe2"}
	id := 0
	next := func() int { id++; return id }
	for _, pe := range pes { // an earlier launch
		b.activity(pe, "cpu", "run", 0, 100*ns, next(), 0)
	}
	b.launch(0, 3, 0, 100*ns, "pe2", id)
	first := []int{next(), next(), next()}
	send := []int{next(), next(), 0}
	start := 200 * ns
	b.activity("pe0", "cpu", "run", start, start+10*ns, first[0], 0)
	b.activity("pe0", "dma write", "send", start+10*ns, start+30*ns, send[0], first[0])
	b.activity("pe1", "cpu", "run", start, start+12*ns, first[1], 0)
	b.activity("pe1", "dma write", "send", start+12*ns, start+80*ns, send[1], first[1])
	b.activity("pe2", "cpu", "run", start, start+1*ns, first[2], 0)
	b.slice("pe2", "cpu", "wait: message", start+1*ns, start+31*ns, "")
	copied, run1, run2, last := next(), next(), next(), next()
	b.activity("pe2", "copy", "recv", start+30*ns, start+31*ns, copied, send[0])
	b.activity("pe2", "cpu", "run", start+31*ns, start+32*ns, run1, copied)
	b.slice("pe2", "cpu", "wait: message", start+32*ns, start+81*ns, "")
	b.activity("pe2", "cpu", "run", start+81*ns, start+84*ns, run2, send[1])
	b.slice("pe2", "cpu", "wait: end", start+84*ns, start+90*ns, "")
	b.activity("pe2", "math", "add", start+84*ns, start+90*ns, last, run2)
	b.launch(1, 3, start, 90*ns, "pe2", last)
	b.activity("pe2", "cpu", "run", start+90*ns, start+95*ns, next(), 0) // a later launch
	b.launch(2, 1, start+90*ns, 5*ns, "pe2", id)

	r, err := b.read(t).Analyse(1, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := "pe2 ended last of 3 PEs, 10 ns after the median; 88% of its time its CPU waited for messages, longest for those from pe1. " +
		"The median PE, pe1, spent 79 ns less on waiting for messages"
	if r.Slowest.Text != want {
		t.Errorf("got %s\nwant %s", r.Slowest.Text, want)
	}
	if got, want := fmt.Sprint(r.Slowest.From), "[{message pe1 49ns} {message pe0 30ns}]"; got != want {
		t.Errorf("waited for: got %s, want %s", got, want)
	}
	if got, want := useText(r.Engines), "cpu 0.100 0.133 pe1, dma write 0.326 0.756 pe1, copy 0.004 0.011 pe2, math 0.022 0.067 pe2"; got != want {
		t.Errorf("engines: got %s\nwant %s", got, want)
	}
}

// TestLaunchesAtOnce checks the slowest PE of each of two launches that start at the same
// instant. The first activity of each PE names its launch.
func TestLaunchesAtOnce(t *testing.T) {
	b := newBuilder()
	for i, end := range []simtime.Time{5 * ns, 9 * ns, 7 * ns, 8 * ns} {
		b.slice(fmt.Sprintf("pe%d", i), "cpu", "run", 0, end, fmt.Sprintf(`"id":%d,"launch":%d`, i+1, i%2))
	}
	b.launch(0, 2, 0, 7*ns, "pe2", 3)
	b.launch(1, 2, 0, 9*ns, "pe1", 2)
	for launch, want := range []string{
		"pe2 ended last of 2 PEs, 2 ns after the median; 100% of its time its CPU was at work. The median PE, pe0, spent 2 ns less on CPU work",
		"pe1 ended last of 2 PEs, 1 ns after the median; 100% of its time its CPU was at work. The median PE, pe3, spent 1 ns less on CPU work",
	} {
		r, err := b.read(t).Analyse(int64(launch), 1)
		if err != nil {
			t.Fatal(err)
		}
		if r.Slowest.Text != want {
			t.Errorf("launch %d: got %s\nwant %s", launch, r.Slowest.Text, want)
		}
	}
}

// TestSlowestInWords checks the text that summarizes the comparison of the slowest PE with
// the median PE.
func TestSlowestInWords(t *testing.T) {
	tests := []struct {
		s    Slowest
		want string
	}{
		{Slowest{PE: "pe0", Of: 1, Took: 211 * ns, Median: "pe0", MedianTook: 211 * ns, CPU: []Spent{{"wait: end", 205 * ns, 0.97, 205 * ns}}, Engines: []Spent{{"gemm", 40 * ns, 0.19, 40 * ns}}},
			"pe0 ran alone, for 211 ns; 97% of its time its CPU waited for the end of what it had begun, and its busiest engine, gemm, was at work for 19%"},
		{Slowest{PE: "pe1", Of: 2, Took: 5 * ns, Median: "pe0", MedianTook: 5 * ns, CPU: []Spent{{"run", 5 * ns, 1, 5 * ns}}},
			"pe1 ended last of 2 PEs, no later than the median; 100% of its time its CPU was at work"},
		{Slowest{PE: "pe1", Of: 4, Took: 9 * ns, Median: "pe0", MedianTook: 5 * ns, CPU: []Spent{{"run", 9 * ns, 1, 5 * ns}}},
			"pe1 ended last of 4 PEs, 4 ns after the median; 100% of its time its CPU was at work. The median PE, pe0, spent 4 ns less on CPU work"},
		{Slowest{PE: "pe1", Of: 2, Took: 9 * ns, Median: "pe0", MedianTook: 5 * ns, CPU: []Spent{{"wait: something", 9 * ns, 1, 0}}},
			"pe1 ended last of 2 PEs, 4 ns after the median; 100% of its time its CPU waited for something. The median PE, pe0, spent 9 ns less on waiting for something"},
	}
	for _, tt := range tests {
		if got := tt.s.summary(); got != tt.want {
			t.Errorf("got %s\nwant %s", got, tt.want)
		}
	}
}

// TestSubtracks checks that an engine counts as busy while at least one of its subtracks is
// busy.
func TestSubtracks(t *testing.T) {
	b := newBuilder()
	b.activity("pe0", "cpu", "run", 0, 2*ns, 1, 0)
	b.activity("pe0", "dma read", "load", 2*ns, 10*ns, 2, 1)
	b.activity("pe0", "dma read 2", "load", 4*ns, 6*ns, 3, 1)
	b.activity("pe0", "dma read 2", "load", 8*ns, 15*ns, 4, 1)
	b.activity("pe0", "dma read 3", "load", 18*ns, 20*ns, 5, 1)
	b.launch(0, 1, 0, 20*ns, "pe0", 5)
	r, err := b.read(t).Analyse(Whole, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := useText(r.Engines), "cpu 0.100 0.100 pe0, dma read 0.750 0.750 pe0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func useText(list []EngineUse) string {
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprintf("%v %.3f %.3f %s", e.Engine, e.Mean, e.Max, e.Most))
	}
	return strings.Join(all, ", ")
}

// TestPick checks which launch Analyse reports on.
func TestPick(t *testing.T) {
	b := newBuilder()
	for n, took := range []simtime.Time{5 * ns, 7 * ns, 7 * ns} {
		start := simtime.Time(n) * 10 * ns
		b.activity("pe0", "cpu", "run", start, start+took, n+1, 0)
		b.launch(n, 1, start, took, "pe0", n+1)
	}
	tests := []struct {
		launch int64
		want   string
	}{
		{Whole, "1"},
		{0, "0"},
		{2, "2"},
		{3, "no launch 3: the trace has 0 to 2"},
	}
	for _, tt := range tests {
		r, err := b.read(t).Analyse(tt.launch, 1)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(r.Launch.Number)
		}
		if got != tt.want {
			t.Errorf("launch %d: got %s, want %s", tt.launch, got, tt.want)
		}
	}
	empty := newBuilder().read(t)
	if r, err := empty.Analyse(Whole, 1); err != nil || r.Launch != nil {
		t.Errorf("no launches: got %v, %v; want a report of none", r, err)
	}
	if _, err := empty.Analyse(0, 1); err == nil || !strings.Contains(err.Error(), "the trace has none") {
		t.Errorf("no launches: got %v, want an error", err)
	}
}

// TestCreditsOfOthers checks that a wait for a credit is attributed to the PE that returned
// the credit, even if that PE returned it before the wait began. It also checks that the
// summary says what the median PE waited for instead.
func TestCreditsOfOthers(t *testing.T) {
	b := newBuilder()
	b.activity("pe1", "cpu", "run", 0, 5*ns, 1, 0)
	b.activity("pe1", "copy", "recv", 5*ns, 10*ns, 2, 1)
	b.activity("pe0", "cpu", "run", 0, 20*ns, 3, 0)
	b.slice("pe0", "cpu", "wait: credit", 20*ns, 60*ns, "")
	b.activity("pe0", "cpu", "run", 60*ns, 90*ns, 4, 2)
	b.slice("pe1", "cpu", "wait: message", 5*ns, 80*ns, "")
	b.activity("pe1", "cpu", "run", 80*ns, 81*ns, 5, 4)
	b.launch(0, 2, 0, 90*ns, "pe0", 4)
	r, err := b.read(t).Analyse(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(r.Slowest.From), "[{credit pe1 40ns}]"; got != want {
		t.Errorf("waited for: got %s, want %s", got, want)
	}
	want := "pe0 ended last of 2 PEs, 9 ns after the median; 56% of its time its CPU was at work. " +
		"The median PE, pe1, spent 44 ns less on CPU work, and 75 ns more on waiting for messages"
	if r.Slowest.Text != want {
		t.Errorf("got %s\nwant %s", r.Slowest.Text, want)
	}
}
