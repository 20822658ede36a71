package ccl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// none is the time of an event that has not happened, and the filter that matches all
// elements or ranks.
const none = -1

// event is one line of a transcript: a message that arrives at a rank, or elements of the
// rank's memory that it sends, and what the rank does with them.
type event struct {
	time     simtime.Time
	rank     int
	from     string // "<- 3 west"
	elements [2]int
	text     strings.Builder
}

// eventTime returns the time of the event that an operation causes. A receive counts when
// it ends, because the message has arrived then. Other operations count when they start.
func eventTime(op *oplog.Op) simtime.Time {
	if op.Kind == oplog.Recv {
		return op.End
	}
	return op.Start
}

// record adds an operation of a rank to the event to which the operation belongs. A receive
// begins a new event.
func (s *transcript) record(t *testing.T, op *oplog.Op) {
	rank := int(op.PE)
	switch op.Kind {
	case oplog.Load:
		elements, own := s.locate(t, op)
		s.byTile[op.ID] = &event{time: none, rank: rank, elements: elements}
		s.own[op.ID] = own
	case oplog.Recv:
		send := s.log.Op(op.Args[0].From)
		e := &event{
			time: op.End, rank: rank, elements: s.byTile[send.Args[0].From].elements,
			from: fmt.Sprintf("<- %d %v", send.PE, tl.Port(op.Port)),
		}
		fmt.Fprint(&e.text, s.value(t, op.ID))
		s.byTile[op.ID] = e
		s.events = append(s.events, e)
	case oplog.Math:
		s.combine(t, op)
	case oplog.Send:
		port := tl.Port(op.Port)
		fmt.Fprintf(&s.outputEvent(t, op).text, " -> %d %v", s.peer(rank, port), port)
	case oplog.Store:
		s.outputEvent(t, op).text.WriteString(" -> out")
	default:
		t.Fatalf("transcripts know of no %v", op.Kind)
	}
}

// combine adds operation op, which combines two tiles, to the event of the tile that
// arrived last.
func (s *transcript) combine(t *testing.T, op *oplog.Op) {
	other, last := op.Args[0].From, op.Args[1].From
	if a, b := s.byTile[other].time, s.byTile[last].time; a > b || a == b && other > last {
		other, last = last, other
	}
	e, whose := s.byTile[last], ""
	if s.own[other] {
		whose = "own "
	}
	fmt.Fprintf(&e.text, " + %s%v = %v", whose, s.value(t, other), s.value(t, op.ID))
	s.byTile[op.ID] = e
}

// outputEvent returns the event to which op, the send or store of a tile, belongs. This is
// the event that the tile comes from, except in two cases, in which it is a new event: the
// tile was loaded from memory, or op is a send that starts later than the event.
func (s *transcript) outputEvent(t *testing.T, op *oplog.Op) *event {
	tile := op.Args[0].From
	e := s.byTile[tile]
	if op.Kind == oplog.Store && e.time != none || e.time == op.Start {
		return e
	}
	e = &event{time: op.Start, rank: e.rank, elements: e.elements}
	fmt.Fprint(&e.text, s.value(t, tile))
	s.byTile[tile] = e
	s.events = append(s.events, e)
	return e
}

// peer returns the rank to which a port of the given rank leads.
func (s *transcript) peer(rank int, port tl.Port) int {
	all := s.algorithm.Neighbors(&s.Plan, rank)
	return all[slices.IndexFunc(all, func(n Neighbor) bool { return n.Port == port })].Rank
}

// value returns the elements of the tile that operation `id` produced.
func (s *transcript) value(t *testing.T, id oplog.ID) numbers {
	t.Helper()
	data, err := s.data.Value(id)
	if err != nil {
		t.Fatal(err)
	}
	return integers(data, 0, len(data)/tl.I32.Size())
}

// numbers is a list of elements. If there are many, String shows only the first.
type numbers []int

func (n numbers) String() string {
	const many = 16
	if len(n) > many {
		return fmt.Sprintf("[%d ...]", n[0])
	}
	return fmt.Sprint([]int(n))
}

// integers returns n elements of dtype i32 from data, beginning with the element at index
// `at`.
func integers(data []byte, at, n int) numbers {
	list := make(numbers, n)
	for i := range list {
		list[i] = int(numeric.Get(tl.I32, data, at+i))
	}
	return list
}

// locate returns the range of elements that op, a load, reads, and reports whether op reads
// them from In. (A partial sum may have been stored in Out.) Elements are numbered over all
// blocks, one after another. In a gather, the block of a rank has the number of the rank.
func (s *transcript) locate(t *testing.T, op *oplog.Op) (elements [2]int, own bool) {
	t.Helper()
	rank := int(op.PE)
	in, out := s.counts(rank)
	for which, counts := range [][]int{in, out} {
		side := s.sides[rank][which]
		at := int(op.Mem[0].Addr-int64(side.addr)) / s.DType.Size()
		base := 0
		if which == 0 && (s.Collective == AllGather || s.Collective == Gather) {
			base = rank * s.Counts[0]
		}
		for b, n := range counts {
			if i := at - side.offset[b]; i >= 0 && i < n {
				return [2]int{base + i, base + i + op.Shape.Elems()}, which == 0
			}
			base += n
		}
	}
	t.Fatalf("rank %d loads from neither In nor Out: %+v", rank, op.Mem)
	return elements, false
}

// writeEvents writes the events that onlyRank and onlyElement select, in order of time.
// Events at the same time share one heading with the time.
func (s *transcript) writeEvents(out *strings.Builder) {
	s.events = slices.DeleteFunc(s.events, func(e *event) bool {
		return s.onlyRank != none && e.rank != s.onlyRank ||
			s.onlyElement != none && (s.onlyElement < e.elements[0] || s.onlyElement >= e.elements[1])
	})
	slices.SortStableFunc(s.events, func(a, b *event) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rank, b.rank))
	})
	width := 0
	for _, e := range s.events {
		width = max(width, len(e.from))
	}
	before := simtime.Time(none)
	for _, e := range s.events {
		when := ""
		if e.time != before {
			when = (e.time - s.start).String()
		}
		before = e.time
		fmt.Fprintf(out, "%9s  %d %-*s  x[%d:%d]  %s\n", when, e.rank, width, e.from, e.elements[0], e.elements[1], e.text.String())
	}
}

// writeValues writes the elements of In (which = 0) or Out (which = 1) of all ranks.
func (s *transcript) writeValues(t *testing.T, out *strings.Builder, m *machine.Machine, which int) {
	t.Helper()
	var lists []string
	for rank, sides := range s.sides {
		side := sides[which]
		data := make([]byte, len(side.bytes))
		if err := m.Memory(side.memory).Store.Read(side.addr, data); err != nil {
			t.Fatal(err)
		}
		in, out := s.counts(rank)
		var all numbers
		for b, n := range [][]int{in, out}[which] {
			all = append(all, integers(data, side.offset[b], n)...)
		}
		lists = append(lists, all.String())
	}
	if len(slices.Compact(slices.Clone(lists))) == 1 {
		fmt.Fprintf(out, "all have %s\n", lists[0])
		return
	}
	for rank, list := range lists {
		if list != "[]" {
			fmt.Fprintf(out, "%d has %s\n", rank, list)
		}
	}
}
