package ccl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// tester is the interface of *testing.T, *testing.B and *rapid.T that experiments need.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// experiment is a plan and the machine that it runs on.
type experiment struct {
	Plan
	algorithm *Algorithm
	preset    string
	sets      []string // settings of the topology
	queues    topology.IPCQ
	first     int                      // number of PEs of the launch, before rank 0, that do not take part
	stride    int                      // PEs from one rank to the next; 0 means 1
	inPlace   bool                     // In and Out are the same memory, if each is one block
	inboxes   bool                     // use inboxes instead of queues, even if there are enough ports
	timing    bool                     // no values, no checks
	before    func(t *tl.PE, rank int) // runs on each PE before the kernel, unless nil
}

// String describes the experiment for messages of test failures.
func (e *experiment) String() string {
	return fmt.Sprintf("%s %v of %v, %d ranks %+v, root cube %d, root %d, counts %v, %v, chunk %d, slots %d, %s %v, %d slots of %v in %s, first %d, in place %v, inboxes %v",
		e.algorithm.Name, e.Collective, e.DType, e.Ranks, e.Layout, e.RootCube, e.Root, e.Counts, e.Reduction, e.Chunk, e.Slots,
		e.preset, e.sets, e.queues.NSlots, e.queues.SlotSize, e.queues.BufferKind, e.first, e.inPlace, e.inboxes)
}

var graphs = map[string]*topology.Graph{}

// graph returns the compiled graph of a preset with the given settings, such as
// "key=value". It compiles each graph only once.
func graph(t tester, preset string, sets ...string) *topology.Graph {
	t.Helper()
	key := fmt.Sprint(preset, sets)
	if graphs[key] == nil {
		spec, err := topology.Load(context.Background(), preset, sets...)
		if err != nil {
			t.Fatal(err)
		}
		if graphs[key], err = topology.Compile(spec); err != nil {
			t.Fatal(err)
		}
	}
	return graphs[key]
}

// side is the blocks of In or Out of one rank, stored in one allocation in its HBM with
// gaps between them.
type side struct {
	bytes  []byte // contents
	ptr    tl.Ptr
	offset []int // offset of each block, in elements
	memory memory.ID
	addr   memory.Addr
}

// gap is the number of elements between blocks, which must not change.
const gap = 3

// unused is the initial value of the bytes of gaps and outputs.
const unused = 0xa5

// newSide returns the input or output of a rank, as a side whose block i has counts[i]
// elements.
func newSide(d tl.DType, counts []int) *side {
	s := &side{offset: make([]int, len(counts))}
	at := gap
	for i, n := range counts {
		s.offset[i] = at
		at += n + gap
	}
	s.bytes = bytes.Repeat([]byte{unused}, at*d.Size())
	return s
}

func (s *side) block(i int) tl.Ptr { return s.ptr.Add(s.offset[i]) }

// shift returns one message per rank: rank i sends count(i) elements to rank i+1, and the
// last rank sends to rank 0.
func shift(ranks int, count func(rank int) int) (list []Message) {
	for from := range ranks {
		if ranks > 1 {
			list = append(list, Message{from, (from + 1) % ranks, count(from)})
		}
	}
	return list
}

// counts returns the number of elements of each block of In and Out of a rank. For SendRecv
// it also sets e.Messages.
func (e *experiment) counts(rank int) (in, out []int) {
	every := func(n func(other int) int) (list []int) {
		for other := range e.Ranks {
			list = append(list, n(other))
		}
		return list
	}
	blocks := e.Plan
	blocks.Collective = AllGather // in a SendRecv a rank's message is as large as its block
	one, all, root := []int{blocks.Count(0)}, every(blocks.Count), rank == e.Root
	switch e.Collective {
	case Reduce:
		if in = one; root {
			out = one
		}
	case Broadcast:
		if out = one; root {
			in = one
		}
	case AllGather:
		return all[rank : rank+1], all
	case ReduceScatter:
		return all, all[rank : rank+1]
	case AllToAll:
		in = every(func(to int) int { return e.Between(rank, to) })
		out = every(func(from int) int { return e.Between(from, rank) })
	case Gather:
		if in = all[rank : rank+1]; root {
			out = all
		}
	case Scatter:
		if out = all[rank : rank+1]; root {
			in = all
		}
	case SendRecv: // each rank has a message for the next one
		e.Messages = shift(e.Ranks, blocks.Count)
		only := func(own int) []int {
			list := make([]int, e.Ranks)
			list[own] = blocks.Count(own)
			return list
		}
		if e.Ranks > 1 {
			return only(rank), only((rank + e.Ranks - 1) % e.Ranks)
		}
	case AllReduce:
		return one, one
	}
	return in, out
}

// outcome is the result of an experiment.
type outcome struct {
	out  [][]byte       // by rank
	time simtime.Time   // critical path
	exec []simtime.Time // by rank
}

// run runs an experiment. Unless `in` is nil, run calls it for each rank to fill the rank's
// input.
func (e *experiment) run(t tester, in func(rank int, s *side)) (o outcome) {
	t.Helper()
	m := machine.New(graph(t, e.preset, e.sets...), machine.Options{Log: !e.timing})
	defer m.Close()
	var data *exec.Executor
	if !e.timing {
		data = exec.New(m.Log, func(s oplog.Space) *memory.Store { return &m.Memory(s).Store }, 1)
		m.Data = data
	}
	program := machine.Program{Name: e.algorithm.Name, Queues: e.queues}
	args := make([]Args, e.Ranks)
	sides := make([][2]*side, e.Ranks)
	for rank := range e.first + e.Ranks {
		program.Targets = append(program.Targets, e.pe(rank))
	}
	for rank := range args {
		pe := m.PE(e.pe(e.first + rank))
		from, to := e.counts(rank)
		ins, outs := newSide(e.DType, from), newSide(e.DType, to)
		if in != nil {
			in(rank, ins)
		}
		e.place(t, m, pe, ins)
		if e.inPlace && len(from) == 1 && len(to) == 1 {
			outs = ins
		} else {
			e.place(t, m, pe, outs)
		}
		args[rank] = Args{Plan: &e.Plan, Rank: rank, First: e.first, In: ins.block, Out: outs.block}
		sides[rank] = [2]*side{ins, outs}
	}
	if ports := e.algorithm.Ports(&e.Plan); e.inboxes || ports > m.Queues(e.queues).MaxPorts {
		program.Windows = e.windows(t, m, args, ports)
	} else {
		program.Links = e.links()
	}
	program.Body = func(t *tl.PE) {
		if rank := t.Rank() - e.first; rank >= 0 {
			if e.before != nil {
				e.before(t, rank)
			}
			e.algorithm.Kernel(t, &args[rank])
		}
	}
	run, err := m.Start(program, sim.Event{})
	if err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	if err := m.Engine.Run(context.Background()); err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	o.time = run.Critical()
	for rank := range args {
		o.exec = append(o.exec, run.Exec(e.first+rank))
	}
	if e.timing {
		return o
	}
	if err := data.Flush(); err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	if races, err := exec.Races(m.Log); err != nil || len(races) > 0 {
		t.Fatalf("%v: races %v, %v", e, races, err)
	}
	for _, s := range sides {
		got := make([]byte, len(s[1].bytes))
		if err := m.Memory(s[1].memory).Store.Read(s[1].addr, got); err != nil {
			t.Fatal(err)
		}
		o.out = append(o.out, got)
		if s[0] == s[1] {
			continue
		}
		still := make([]byte, len(s[0].bytes))
		if err := m.Memory(s[0].memory).Store.Read(s[0].addr, still); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(still, s[0].bytes) {
			t.Fatalf("%v: the input has changed", e)
		}
	}
	return o
}

// pe returns the PE that a rank of the launch runs on.
func (e *experiment) pe(rank int) machine.PEID { return machine.PEID(rank * max(1, e.stride)) }

// place allocates a side in the HBM slice of a PE and writes the contents of the side
// there.
func (e *experiment) place(t tester, m *machine.Machine, pe *machine.PE, s *side) {
	t.Helper()
	s.memory = pe.Memory(topology.KindHBM)
	s.addr, s.ptr = e.alloc(t, m, s.memory, len(s.bytes)/e.DType.Size())
	if err := m.Memory(s.memory).Store.Write(s.addr, s.bytes); err != nil {
		t.Fatal(err)
	}
}

// alloc allocates `elems` elements in the memory `id` and maps them to a virtual address.
// It returns the physical address, and a pointer with the virtual address.
func (e *experiment) alloc(t tester, m *machine.Machine, id memory.ID, elems int) (memory.Addr, tl.Ptr) {
	t.Helper()
	n := memory.Bytes(max(1, elems) * e.DType.Size())
	addr, err := m.Memory(id).Allocator.Alloc(n, 256)
	if err != nil {
		t.Fatal(err)
	}
	va, err := m.Space.Map("x", []memory.Segment{{Memory: id, Addr: addr, Bytes: n}})
	if err != nil {
		t.Fatal(err)
	}
	return addr, tl.Ptr{Addr: int64(va), DType: e.DType, Rank: 1, Stride: [4]int64{1}}
}

// windows allocates the inboxes of all ranks, as the first tensor argument of the launch.
func (e *experiment) windows(t tester, m *machine.Machine, args []Args, ports int) [][]memory.Part {
	t.Helper()
	elems := ports * e.InboxElems(e.algorithm.Inbox)
	parts := make([]memory.Part, e.first+e.Ranks)
	for rank := range args {
		_, work := e.alloc(t, m, m.PE(e.pe(e.first+rank)).Memory(topology.KindHBM), elems)
		work.Window = 1
		args[rank].Work = work
		parts[e.first+rank] = memory.Part{VA: memory.VA(work.Addr), Bytes: memory.Bytes(max(1, elems) * e.DType.Size())}
	}
	return [][]memory.Part{parts}
}

// links returns the neighbour table of the launch: each queue between two neighbours once.
func (e *experiment) links() (table []machine.Connection) {
	for rank := range e.Ranks {
		for _, n := range e.algorithm.Neighbors(&e.Plan, rank) {
			if rank < n.Rank {
				table = append(table, machine.Connection{
					A: e.pe(e.first + rank), APort: n.Port, B: e.pe(e.first + n.Rank), BPort: n.PeerPort,
				})
			}
		}
	}
	return table
}
