package ccl

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// hub returns an all-reduce such as a user might write. Rank 0 adds the messages of all
// other ranks in the order in which they arrive. The other ranks call `send` with their
// elements and receive the sum.
func hub(send func(ports *Transport, port tl.Port, x tl.Tile)) *Algorithm {
	neighbors := func(p *Plan, rank int) (list []Neighbor) {
		if rank > 0 {
			return []Neighbor{{Port: tl.Parent, PeerPort: tl.Numbered(rank), Inbox: rank - 1}}
		}
		for r := 1; r < p.Ranks; r++ {
			list = append(list, Neighbor{Port: tl.Numbered(r), Rank: r, PeerPort: tl.Parent})
		}
		return list
	}
	inbox := func(p *Plan) int { return p.Count(0) }
	return &Algorithm{
		Name: "hub", Collectives: []Collective{AllReduce}, Neighbors: neighbors, Inbox: inbox,
		Kernel: func(t *tl.PE, a *Args) {
			ports, n := a.Connect(t, neighbors, inbox), a.Count(0)
			sum := t.Load(a.In(0), tl.Shape{n}, a.DType)
			if a.Rank > 0 {
				send(ports, tl.Parent, sum)
				t.Store(a.Out(0), ports.Recv(tl.Parent, n))
				return
			}
			var waiting []tl.Port
			for r := 1; r < a.Ranks; r++ {
				waiting = append(waiting, tl.Numbered(r))
			}
			for len(waiting) > 0 {
				var cases []tl.Case
				for _, port := range waiting {
					cases = append(cases, ports.CanRecv(port))
				}
				i := t.Select(cases...)
				sum = a.Combine(sum, ports.Recv(waiting[i], n))
				waiting = append(waiting[:i], waiting[i+1:]...)
			}
			for r := 1; r < a.Ranks; r++ {
				if cases := ports.CanSend(nil, tl.Numbered(r), n); len(cases) > 0 {
					t.Select(cases...)
				}
				ports.Send(tl.Numbered(r), sum)
			}
			t.Store(a.Out(0), sum)
		},
	}
}

// TestTransport checks that the kernel of hub computes the right sums with queues and with
// inboxes, for odd numbers of ranks.
func TestTransport(t *testing.T) {
	for _, ranks := range []int{1, 3, 5, 7, 13} {
		for _, inboxes := range []bool{false, true} {
			e := classic(hub((*Transport).Send), AllReduce, ranks, 301)
			e.DType, e.inboxes = tl.I32, inboxes
			e.verify(t, uint64(ranks), true)
		}
	}
}

// failing is a tester that records the failure of an experiment instead of ending the test.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// TestTransportMisuse checks that a kernel that misuses inboxes gets an error with the line
// of the kernel.
func TestTransportMisuse(t *testing.T) {
	for _, tt := range []struct {
		send func(ports *Transport, port tl.Port, x tl.Tile)
		want string
	}{
		{func(ports *Transport, _ tl.Port, x tl.Tile) { ports.Send(tl.East, x) }, "no port east: Neighbors of the algorithm gives this rank none"},
		{func(ports *Transport, port tl.Port, x tl.Tile) { ports.Send(port, x); ports.Send(port, x) },
			"301 elements to port parent, and the inbox there has room for 0: Inbox of the algorithm has to count all that a neighbour sends"},
	} {
		e, f := classic(hub(tt.send), AllReduce, 13, 301), &failing{TB: t}
		func() {
			defer func() {
				if r := recover(); r != f {
					t.Fatalf("got %v, want an error", r)
				}
			}()
			e.run(f, nil)
		}()
		if want := regexp.MustCompile(` at transport_test\.go:\d+: ` + regexp.QuoteMeta(tt.want)); !want.MatchString(f.text) {
			t.Errorf("got %s\nwant %s", f.text, tt.want)
		}
	}
}
