package oplog

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
)

// ID numbers the operations of a log from 1, in the order of issue. 0 is none.
type ID int64

// Kind is what an operation does.
type Kind uint8

// The kinds of operation. "Value" is the tile that an operation produces.
const (
	Load       Kind = iota + 1 // value: what Mem holds when it starts; outside Box, Fill
	Store                      // writes Args[0] to Mem
	Full                       // value: Fill everywhere
	Arange                     // value: 0, 1, 2 ...
	Math                       // value: Math applied to Args, broadcast to Shape
	Reduce                     // value: Math (Sum, Max, Min) over Axis of Args[0]
	Softmax                    // value: Softmax over the last axis of Args[0]
	Dot                        // value: Args[0] × Args[1], plus Args[2] if there are three
	Cast                       // value: Args[0] as DType
	Trans                      // value: Args[0] with its last two axes exchanged
	Reshape                    // value: Args[0] in another shape
	Broadcast                  // value: Args[0] repeated to Shape
	Gemm                       // composite: Args[0] × Args[1], Epilogue, as DType to Mem
	Stream                     // composite: Math of Args, Epilogue, as DType to Mem
	Send                       // value: Args[0], for the Recv that names it
	Recv                       // value: that of the Send Args[0].From; written to Mem if there is one
	Put                        // writes Args[0] to Mem, of another PE
	Get                        // value: what Mem, of another PE, holds when it starts
	Notify                     // changes a signal of PE Peer
	WaitSignal                 // returned because of the Notify operations Args
	Scratch                    // Mem is new scratch memory: zero
	HostWrite                  // writes Data to Mem
	HostRead                   // value: what Mem holds, for the host
	Zero                       // Mem is newly allocated: zero
	Barrier                    // everything before it happened before everything after; or see Order
	Wait                       // Args[0].From, a composite or a receive, had ended
	TaskBegin                  // a task, number Peer of its rank and called Line, begins after the TaskEnd operations Args
	TaskEnd                    // task number Peer, and everything that it started, has ended
	// ReducePeers is a composite: Math of Args, which are at several PEs, one after the
	// other, Epilogue, as DType to Mem.
	ReducePeers
	NumKinds
)

// IsComposite reports whether an operation is a composite command, from memory to memory.
func (k Kind) IsComposite() bool { return k == Gemm || k == Stream || k == ReducePeers }

// Order is a Barrier between two launches alone: launch number `then`, which begins
// next, comes after number `first` has ended.
func Order(first, then int32) Op {
	return Op{Kind: Barrier, PE: -1, Launch: first, Peer: then, Port: -1}
}

// MaxRank is the most axes that a tile has.
const MaxRank = 4

// Shape is the extents of a tile, outermost first. It is comparable.
type Shape struct {
	Rank int8
	Dim  [MaxRank]int32
}

// Elems is the number of elements.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s.Dim[:s.Rank] {
		n *= int(d)
	}
	return n
}

// Space is a memory of the machine.
type Space struct {
	Kind          SpaceKind
	SIP, Cube, PE int32 // PE is 0 for SRAM
}

// SpaceKind tells the memories of a machine apart.
type SpaceKind uint8

// The kinds of memory.
const (
	HBM SpaceKind = iota + 1
	SRAM
	TCM
)

// Access is a run of rows in one memory: Rows times RowBytes, Stride apart.
type Access struct {
	Space    Space
	Addr     int64
	Rows     int64
	RowBytes int64
	Stride   int64
}

// Bytes is how much the access moves.
func (a Access) Bytes() int64 { return a.Rows * a.RowBytes }

// Operand is what an operation works on: the value of another operation, memory
// (of composites and of sends), or a number.
type Operand struct {
	From   ID       // the producer; 0 for memory and numbers
	Mem    []Access // row-major pieces of the operand, if it is in memory
	Shape  Shape    // rank 0 and no producer for a number
	DType  numeric.DType
	Scalar float64 // the number, rounded to DType where it is used
}

// Step is one operation of a composite's epilogue, applied to what came before:
// Math(result, Args...), in the accumulator's dtype.
type Step struct {
	Math numeric.Op
	Args []Operand
}

// Op is one operation.
type Op struct {
	ID     ID
	Kind   Kind
	Math   numeric.Op // of Math, Reduce, Stream, ReducePeers
	Axis   int8       // of Reduce
	DType  numeric.DType
	Shape  Shape // of the value, or of what is written
	Box    Shape // the extents that are inside memory, if not all of Shape
	Fill   float64
	PE     int32 // -1 is the host
	Launch int32 // index in Log.Launches, -1 for the host
	Line   int32 // index in Log.Lines: where the kernel asked for it; of TaskBegin: the task's name
	Peer   int32 // of Put, Get, Notify: the other PE; of TaskBegin and TaskEnd: the task
	Port   int32 // of Send and Recv
	Signal int32 // of Notify and WaitSignal
	Tiles  int32 // matrix tiles of a composite

	Issue, Start, End simtime.Time
	Cause             ID // whose end released it, if it waited for another

	Args     []Operand
	Mem      []Access // memory read or written, row-major pieces of the value
	Epilogue []Step
	Data     []byte // of HostWrite
	Digest   uint64 // of HostRead: FNV-1a 64 of the bytes read, once known
}

// Phase is which half of a memory operation an effect is.
type Phase uint8

// A read takes what was last published when it starts, a write publishes when it
// ends. A composite does both.
const (
	Read Phase = iota
	Write
)

// Effect is the instant at which an operation touches memory.
type Effect struct {
	Op    ID
	Phase Phase
}

// Launch is one run of a kernel.
type Launch struct {
	Name string
	PEs  []int32
}

// Log is the operations of a run, and their order where it matters.
type Log struct {
	Ops      []Op     // by ID - 1
	Effects  []Effect // in the order of the clock, ties as the machine broke them
	Launches []Launch
	Lines    []string // "kernel.go:12", names of tasks; 0 is ""
	PEs      []string // names by number: "sip0.cube5.pe3"

	lines map[string]int32
}

// Add appends an operation and gives it its ID.
func (l *Log) Add(op Op) ID {
	if len(l.Ops) == cap(l.Ops) {
		l.Ops = slices.Grow(l.Ops, max(1024, len(l.Ops))) // append would copy a long log more often
	}
	op.ID = ID(len(l.Ops) + 1)
	l.Ops = append(l.Ops, op)
	return op.ID
}

// Op is an operation by ID, to be changed until it has ended.
func (l *Log) Op(id ID) *Op { return &l.Ops[id-1] }

// Effect notes that an operation touches memory now.
func (l *Log) Effect(id ID, p Phase) { l.Effects = append(l.Effects, Effect{id, p}) }

// Reset forgets all operations and launches: numbers begin anew.
func (l *Log) Reset() { l.Ops, l.Effects, l.Launches = l.Ops[:0], l.Effects[:0], l.Launches[:0] }

// NamePE gives a PE its name.
func (l *Log) NamePE(pe int, name string) {
	for len(l.PEs) <= pe {
		l.PEs = append(l.PEs, "")
	}
	l.PEs[pe] = name
}

// Line is the number of a place in the source, or of the name of a task.
func (l *Log) Line(at string) int32 {
	if l.lines == nil {
		l.lines = make(map[string]int32)
		l.Lines = append(l.Lines, "")
	}
	i, ok := l.lines[at]
	if !ok {
		i = int32(len(l.Lines))
		l.lines[at] = i
		l.Lines = append(l.Lines, at)
	}
	return i
}

var kindNames = [NumKinds]string{
	Load: "Load", Store: "Store", Full: "Full", Arange: "Arange", Math: "Math", Reduce: "Reduce", Softmax: "Softmax",
	Dot: "Dot", Cast: "Cast", Trans: "Trans", Reshape: "Reshape", Broadcast: "Broadcast", Gemm: "Gemm", Stream: "Stream",
	Send: "Send", Recv: "Recv", Put: "Put", Get: "Get", Notify: "Notify", WaitSignal: "WaitSignal", Scratch: "Scratch",
	HostWrite: "HostWrite", HostRead: "HostRead", Zero: "Zero", Barrier: "Barrier", Wait: "Wait",
	TaskBegin: "TaskBegin", TaskEnd: "TaskEnd", ReducePeers: "ReducePeers",
}

// String returns the name of the kind: "Load".
func (k Kind) String() string { return printable.Name("Kind", k, kindNames[:]) }

// String returns "read" or "write".
func (p Phase) String() string { return printable.Name("Phase", p, []string{"read", "write"}) }

// String is the shape in brackets: "[32 64]".
func (s Shape) String() string { return fmt.Sprint(s.Dim[:s.Rank]) }

// String is the memory's name in the topology: "sip0.cube5.hbm3".
func (s Space) String() string {
	switch s.Kind {
	case HBM:
		return fmt.Sprintf("sip%d.cube%d.hbm%d", s.SIP, s.Cube, s.PE)
	case SRAM:
		return fmt.Sprintf("sip%d.cube%d.sram", s.SIP, s.Cube)
	case TCM:
		return fmt.Sprintf("sip%d.cube%d.pe%d.tcm", s.SIP, s.Cube, s.PE)
	}
	return fmt.Sprintf("sip%d.cube%d.pe%d: memory kind %d, of which there is none", s.SIP, s.Cube, s.PE, s.Kind)
}

// Describe is an operation as errors name it:
// "operation 12 (Store at copy.go:7 of kernel copy on sip0.cube5.pe3)".
func (l *Log) Describe(id ID) string {
	if id < 1 || int(id) > len(l.Ops) {
		return fmt.Sprintf("operation %d (not in the log, which has %d)", id, len(l.Ops))
	}
	op := l.Op(id)
	text := fmt.Sprintf("operation %d (%v", id, op.Kind)
	if op.Line > 0 && int(op.Line) < len(l.Lines) {
		at := " at "
		if op.Kind == TaskBegin {
			at = " of task "
		}
		text += at + l.Lines[op.Line]
	}
	if op.Launch >= 0 && int(op.Launch) < len(l.Launches) {
		text += " of kernel " + l.Launches[op.Launch].Name
	}
	switch {
	case op.PE < 0:
		return text + " by the host)"
	case int(op.PE) < len(l.PEs):
		return text + " on " + l.PEs[op.PE] + ")"
	}
	return fmt.Sprintf("%s on PE %d)", text, op.PE)
}
