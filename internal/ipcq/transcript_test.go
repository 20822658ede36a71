package ipcq

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// TestTranscripts runs the commands in each file of testdata and compares their output with
// the file. Each file has its own machine. Its PEs have TCMs of 64 GB/s, links of 10 ns and
// 64 GB/s connect the PEs, and the set-up of each transfer takes 1 ns. Sizes are in bytes
// and times in nanoseconds. Run the test with -rewrite to replace the output in the files.
//
// The command `queue` builds a queue:
//
//	queue from=a to=b slots=2 slot=64 memory=sram poll=5
//
// The argument `slot` is the size of a slot. The slots are in the receiver's TCM, or in an
// SRAM with `memory=sram`. With `poll=5`, a sender that has no credit looks for a credit
// every 5 ns; without `poll`, it sleeps until a credit returns.
//
// The command `run` runs a program on each PE, from the current time on, and prints what
// happens:
//
//	run
//	a: send b 64; sleep 10; room b 128
//	b: recv a 64; recv any 64; into a 64
//
// The step `room b 128` waits until PE a has the credits for a message of 128 bytes to b.
// `recv a 64` receives a message of 64 bytes from a into a tile, and `recv any 64` receives
// a message from any PE into a tile. `into a 64` receives a message from a into memory.
//
// The command `state` prints the state of the queues.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		b := newBench()
		defer func() { b.eng.Close() }()
		datadriven.RunTest(t, path, b.command)
	})
}

// bench is a machine: PEs with queues between them.
type bench struct {
	eng    *sim.Engine
	fab    *fabric.Fabric
	queues *Queues
	target sim.Target
	calls  []func() // functions that events call, by Arg
	pes    map[string]*element
	rings  []*Ring
	polls  map[*Ring]simtime.Time // how often a sender without a credit looks for one; 0 if it sleeps
	lines  []line                 // the output of run
	sends  int                    // messages sent
}

// element is a PE: its engines and the process of its program.
type element struct {
	name     string
	tiles    pe.Tiles
	dma      pe.DMA
	pipeline pe.Pipeline
	turn     int // the queue at which "recv any" starts to look
	proc     *sim.Proc
}

// line is a line of output with its time.
type line struct {
	at   simtime.Time
	text string
}

// bus is a network with two links for each queue: one to its slots, and one from its slots.
type bus struct{}

func (bus) NumLinks() int { return 64 }
func (bus) Hop(topology.LinkID) fabric.Hop {
	return fabric.Hop{Bandwidth: 64 * topology.GBps, Latency: 10 * simtime.Nanosecond}
}

func newBench() *bench {
	b := &bench{eng: sim.New(), pes: map[string]*element{}, polls: map[*Ring]simtime.Time{}}
	b.fab = fabric.New(b.eng, bus{}, fabric.Config{Flit: 64})
	b.queues = New(b.eng, b.fab)
	b.queues.OnVisible = func(id oplog.ID) { b.note(b.eng.Now(), "message %d is visible", id) }
	b.target = b.eng.Register(b)
	return b
}

// Handle calls the function that belongs to an event.
func (b *bench) Handle(_ sim.Kind, arg uint64) { b.calls[arg]() }

// event returns an event that calls a function.
func (b *bench) event(call func()) sim.Event {
	b.calls = append(b.calls, call)
	return sim.Event{Target: b.target, Arg: uint64(len(b.calls) - 1)}
}

func (b *bench) note(at simtime.Time, format string, args ...any) {
	b.lines = append(b.lines, line{at, fmt.Sprintf(format, args...)})
}

func (b *bench) element(name string) *element {
	if b.pes[name] == nil {
		e := &element{name: name}
		b.pes[name] = e
		e.tiles.Init(1 << 20)
		e.dma.Init(b.eng, b.fab, &topology.DMA{Setup: simtime.Nanosecond, Outstanding: 8},
			&topology.TCM{Size: 1 << 20, ReadBandwidth: 64 * topology.GBps, WriteBandwidth: 64 * topology.GBps}, &e.tiles)
		e.pipeline.Init(b.eng, &e.tiles, &e.dma)
	}
	return b.pes[name]
}

// command runs one command of a transcript and returns its output.
func (b *bench) command(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "queue":
		return b.queue(t, d)
	case "run":
		return b.run(t, d)
	case "state":
		return b.state()
	}
	d.Fatalf(t, "no command %q: use queue, run or state", d.Cmd)
	return ""
}

func (b *bench) queue(t *testing.T, d *datadriven.TestData) string {
	var from, to string
	var slots, size, poll int
	kind := "tcm"
	d.ScanArgs(t, "from", &from)
	d.ScanArgs(t, "to", &to)
	d.ScanArgs(t, "slots", &slots)
	d.ScanArgs(t, "slot", &size)
	d.MaybeScanArgs(t, "memory", &kind)
	d.MaybeScanArgs(t, "poll", &poll)
	link := topology.LinkID(2 * len(b.rings))
	kinds := map[string]oplog.SpaceKind{"tcm": oplog.TCM, "sram": oplog.SRAM}
	var flits int64 // a slot that is not a whole number of flits travels alone
	if size%64 == 0 {
		flits = int64(size / 64)
	}
	r := b.queues.Add(End{Name: from, DMA: &b.element(from).dma}, End{Name: to, DMA: &b.element(to).dma}, Config{
		Slots: slots, SlotSize: memory.Bytes(size), Local: kind == "tcm", Memory: memory.ID{Kind: kinds[kind]},
		Path: []topology.LinkID{link}, Out: []topology.LinkID{link + 1}, CreditTime: 10 * simtime.Nanosecond,
		SlotFlits: flits, SlotTime: simtime.Time(flits) * simtime.Nanosecond,
	})
	b.rings = append(b.rings, r)
	b.polls[r] = simtime.Time(poll) * simtime.Nanosecond
	return fmt.Sprintln(r)
}

// state returns the state of each queue as text: how many fragments were sent and read, the
// content of the slots, and the credits that the sender may take.
func (b *bench) state() string {
	var out strings.Builder
	for _, r := range b.rings {
		fmt.Fprintf(&out, "%v: %d sent, %d read;", r, r.sent, r.read)
		for i := range min(int(r.sent), r.Slots) {
			fmt.Fprintf(&out, " slot %d %s,", i, r.slotState(i))
		}
		unused := max(r.Slots-int(r.sent), 0)
		fmt.Fprintf(&out, " %d credits\n", unused+int(r.read-r.used))
	}
	return out.String()
}

// slotState describes the content of a slot that has been used.
func (r *Ring) slotState(slot int) string {
	for n := r.popped; n != r.batches.added; n++ {
		b := r.batch(n)
		for k := range b.count {
			if n := b.first + uint64(k); int(n%uint64(r.Slots)) == slot && n >= r.taken {
				if k >= b.known {
					return fmt.Sprintf("waits for message %d", b.ID)
				}
				return fmt.Sprintf("has %v of message %d", min(r.SlotSize, b.bytes-memory.Bytes(k)*r.SlotSize), b.ID)
			}
		}
	}
	return "free"
}

// run runs the programs of the PEs until they end or fail. It returns what happened, in
// order of time.
func (b *bench) run(t *testing.T, d *datadriven.TestData) string {
	b.lines = nil
	start := b.eng.Now()
	for _, text := range strings.Split(d.Input, "\n") {
		name, program, _ := strings.Cut(text, ": ")
		e := b.element(name)
		e.proc = b.eng.Go(name, func(p *sim.Proc) {
			for _, step := range strings.Split(program, "; ") {
				b.step(t, d, e, strings.Fields(step))
			}
			e.pipeline.Drain(p)
		})
	}
	for _, r := range b.rings {
		r.From.Proc, r.To.Proc = b.pes[r.From.Name].proc, b.pes[r.To.Name].proc
	}
	err := b.eng.Run(context.Background())
	var out strings.Builder
	slices.SortStableFunc(b.lines, func(x, y line) int { return cmp.Compare(x.at, y.at) })
	for _, l := range b.lines {
		fmt.Fprintf(&out, "%11v  %s\n", l.at, l.text)
	}
	if err != nil {
		fmt.Fprintln(&out, err)
	} else {
		fmt.Fprintf(&out, "ended at %v, after %v\n", b.eng.Now(), b.eng.Now()-start)
	}
	return out.String()
}

// ring returns the queue from one PE to another. It fails the test if there is none.
func (b *bench) ring(t *testing.T, d *datadriven.TestData, from, to string) *Ring {
	i := slices.IndexFunc(b.rings, func(r *Ring) bool { return r.From.Name == from && r.To.Name == to })
	if i < 0 {
		d.Fatalf(t, "no queue from %s to %s", from, to)
	}
	return b.rings[i]
}

// step runs one step of a PE's program, such as "send b 64".
func (b *bench) step(t *testing.T, d *datadriven.TestData, e *element, words []string) {
	n, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		d.Fatalf(t, "%s: %v", e.name, err)
	}
	bytes := memory.Bytes(n)
	switch words[0] {
	case "sleep":
		e.proc.Sleep(simtime.Time(n) * simtime.Nanosecond)
	case "send":
		b.send(e, b.ring(t, d, e.name, words[1]), bytes)
	case "room":
		b.room(e, b.ring(t, d, e.name, words[1]), bytes)
	case "recv", "into":
		if words[1] == "any" {
			b.receive(e, b.any(e), bytes, false)
		} else {
			b.receive(e, b.ring(t, d, words[1], e.name), bytes, words[0] == "into")
		}
	default:
		d.Fatalf(t, "%s: no step %q: use send, recv, into, room or sleep", e.name, words[0])
	}
}

// bytesOf returns the shape of a message of n elements of one byte each.
func bytesOf(n memory.Bytes) oplog.Shape {
	return oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{int32(n)}}
}

// send sends a message of n bytes from e over r. It waits for credits before each batch of
// fragments.
func (b *bench) send(e *element, r *Ring, n memory.Bytes) {
	b.sends++
	m := Message{ID: oplog.ID(b.sends), Shape: bytesOf(n), DType: numeric.U8, Bytes: n}
	for i, all := 0, r.Fragments(n); i < all; {
		began := e.proc.Now()
		count, at, last := r.TakeCredits(began, all-i)
		for ; count == 0; count, at, last = r.TakeCredits(e.proc.Now(), all-i) {
			r.AwaitCredit(e.proc, began)
		}
		if poll := b.polls[r]; poll > 0 {
			at = began + (at-began+poll-1)/poll*poll
			last = at
		}
		e.proc.SleepUntil(at)
		wait := ""
		if at > began {
			wait = fmt.Sprintf(", after waiting %v for a credit", at-began)
		}
		slots := fmt.Sprintf("slot %d", r.sent%uint64(r.Slots))
		if count > 1 {
			slots = fmt.Sprintf("slots %d to %d", r.sent%uint64(r.Slots), (r.sent+uint64(count)-1)%uint64(r.Slots))
		}
		size := min(memory.Bytes(count)*r.SlotSize, n-memory.Bytes(i)*r.SlotSize)
		b.note(at, "%s sends %v of message %d to %s%s", e.name, size, m.ID, slots, wait)
		r.Put(&m, i, count, &pe.Request{Done: b.event(func() { b.note(b.eng.Now(), "%s of %v has %v", slots, r, size) })})
		e.proc.SleepUntil(last)
		i += count
	}
}

// room waits until the ring has credits for a message of n bytes, as a Select with CanSend
// does.
func (b *bench) room(e *element, r *Ring, n memory.Bytes) {
	at, ok := r.CreditsReady(n)
	for ; !ok; at, ok = r.CreditsReady(n) {
		r.Listen(n)
		e.proc.Park(e)
		r.Unlisten()
	}
	e.proc.SleepUntil(max(at, e.proc.Now()))
	b.note(e.proc.Now(), "%s has room for %v", e.name, n)
}

func (e *element) String() string { return "anything" }

// any waits until a queue to PE e has a message and returns this queue. It starts the
// search after the queue that the previous call for e returned, so that the queues take
// turns.
func (b *bench) any(e *element) *Ring {
	for {
		for i := range b.rings {
			if r := b.rings[(e.turn+i)%len(b.rings)]; r.To.Name == e.name && r.Waiting() {
				e.turn = (e.turn + i + 1) % len(b.rings)
				return r
			}
		}
		for _, on := range []bool{true, false} {
			for _, r := range b.rings {
				r.To.Any = on && r.To.Name == e.name
			}
			if on {
				e.proc.Park(e)
			}
		}
	}
}

// receive receives a message of n bytes from r at PE e. The message goes to memory if
// `into` is true, else to a tile. receive waits until the whole message is visible.
func (b *bench) receive(e *element, r *Ring, n memory.Bytes, into bool) {
	rc := &Receive{}
	rc.Reset(bytesOf(n), numeric.U8, n)
	rc.ID = 1
	if into {
		rc.Into = func(to []pe.Request, off, n memory.Bytes) []pe.Request {
			far := memory.ID{Kind: oplog.HBM}
			return append(to, pe.Request{Op: memory.Write, Path: r.Out, To: pe.Access{Memory: far, Region: memory.Contiguous(memory.Addr(off), n)}})
		}
	} else {
		rc.Tile, _ = e.tiles.New(n, r.Parts(n))
	}
	rc.At = e.proc.Now()
	rc.Done = b.event(func() { b.note(rc.End, "%s has copied message %d", e.name, rc.Send) })
	b.note(rc.At, "%s asks for %v of %v", e.name, n, r)
	r.Post(rc)
	if err := rc.Await(e.proc, rc.At); err != nil {
		b.note(e.proc.Now(), "%s: %v", e.name, err)
		return
	}
	b.note(e.proc.Now(), "%s goes on", e.name)
}
