package pe

import (
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/simtime"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// instants is a set of times: element i stands for the time from i to i+1.
type instants [40]bool

func (s *instants) add(span Span) {
	for i := span.Start; i < span.End; i++ {
		s[i] = true
	}
}

// spans returns the instants of the set as a list of spans that do not touch each other.
func (s *instants) spans() (list Spans) {
	for i := 0; i < len(s); i++ {
		start := i
		for i < len(s) && s[i] {
			i++
		}
		if i > start {
			list = append(list, Span{simtime.Time(start), simtime.Time(i)})
		}
	}
	return list
}

// combine applies f to the elements of s and `other`, instant by instant, and returns the
// resulting set.
func (s *instants) combine(other *instants, f func(a, b bool) bool) (out instants) {
	for i := range s {
		out[i] = f(s[i], other[i])
	}
	return out
}

func (s *instants) total() (n simtime.Time) {
	for _, in := range s {
		if in {
			n++
		}
	}
	return n
}

// anySpans generates spans in any order. Some are empty or end before they start.
var anySpans = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Span {
	at := rapid.IntRange(0, len(instants{}))
	return Span{simtime.Time(at.Draw(t, "start")), simtime.Time(at.Draw(t, "end"))}
}), 0, 8)

// drawSpans draws intervals and adds each of them to a list of spans and to a set of
// instants. After each interval it checks that the list and the set cover the same
// instants. It returns the list and the set.
func drawSpans(t *rapid.T, name string) (s Spans, set instants) {
	for _, span := range anySpans.Draw(t, name) {
		s.Add(span.Start, span.End)
		set.add(span)
		if got, want := fmt.Sprint(s), fmt.Sprint(set.spans()); got != want {
			t.Fatalf("after Add(%v) the spans are %s, want %s", span, got, want)
		}
	}
	return s, set
}

// TestSpansAreSetsOfInstants checks that Union, Intersect and Total of random spans give
// the same results as the operations on sets of instants. It also checks that Union and
// Intersect do not change their operands.
func TestSpansAreSetsOfInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, setA := drawSpans(t, "a")
		b, setB := drawSpans(t, "b")
		union := setA.combine(&setB, func(a, b bool) bool { return a || b })
		common := setA.combine(&setB, func(a, b bool) bool { return a && b })
		before := fmt.Sprint(a, b)
		for _, c := range []struct {
			what string
			got  Spans
			want *instants
		}{
			{"the union", a.Union(b), &union},
			{"the union the other way", b.Union(a), &union},
			{"the intersection", a.Intersect(b), &common},
			{"the intersection the other way", b.Intersect(a), &common},
		} {
			if fmt.Sprint(c.got) != fmt.Sprint(c.want.spans()) || c.got.Total() != c.want.total() {
				t.Fatalf("%s of %v and %v is %v with total %v, want %v, %v", c.what, a, b, c.got, c.got.Total(), c.want.spans(), c.want.total())
			}
		}
		if after := fmt.Sprint(a, b); after != before {
			t.Fatalf("the operands were %s, and are %s", before, after)
		}
	})
}

// TestUnionDoesNotAlias checks that adding a span to the result of Union does not change
// the operands of Union.
func TestUnionDoesNotAlias(t *testing.T) {
	a := Spans{{0, 10}, {20, 30}}
	both := a.Union(nil)
	both.Add(5, 25)
	if got, want := fmt.Sprint(a, both), fmt.Sprint(Spans{{0, 10}, {20, 30}}, Spans{{0, 30}}); got != want {
		t.Errorf("the operand and the union are %s, want %s", got, want)
	}
}

// TestUsageCoversRequestsInFlight checks that Usage.DMA records a traffic class as busy
// exactly while any request of this class is in flight. A request is in flight from the
// time when it has a channel, after its descriptor is formed, until it has ended.
func TestUsageCoversRequestsInFlight(t *testing.T) {
	for _, c := range []struct {
		name          string
		outstanding   int
		requests      []Request
		compute, comm Spans
	}{
		{"one", 8, []Request{load(0, 0, 4096)}, Spans{{4 * ns, 120 * ns}}, nil},
		{"two at once", 8, []Request{load(0, 0, 256), store(4096, 4096, 512)}, Spans{{4 * ns, 106 * ns}}, nil},
		{"one behind the other", 1, []Request{load(0, 0, 256), load(256, 256, 256)}, Spans{{4 * ns, 206 * ns}}, nil},
		{
			// The second request has no channel before 105 ns.
			"two classes", 1,
			[]Request{comm(load(0, 0, 256)), load(256, 256, 256)},
			Spans{{105 * ns, 206 * ns}}, Spans{{4 * ns, 105 * ns}},
		},
	} {
		b := newBench(c.outstanding)
		b.dma.Usage = &Usage{}
		b.run(t, c.requests...)
		got := fmt.Sprint(b.dma.Usage.DMA[fabric.Compute], b.dma.Usage.DMA[fabric.Comm])
		if want := fmt.Sprint(c.compute, c.comm); got != want {
			t.Errorf("%s: in use %s, want %s", c.name, got, want)
		}
	}
}

// BenchmarkSpansAdd measures Spans.Add for a million spans in order of time, the usual
// case.
func BenchmarkSpansAdd(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := make(Spans, 0, 1<<20)
		for i := range simtime.Time(1 << 20) {
			s.Add(2*i, 2*i+1)
		}
	}
}
