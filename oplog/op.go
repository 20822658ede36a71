package oplog

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
)

// ID is the number of an operation in a log, from 1 in the order of issue. 0 means none.
type ID int64

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operations. "Value" is the tile that an operation produces.
const (
	Load       Kind = iota + 1 // value: what Mem holds at the start; Fill outside Box
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
	Recv                       // value: that of the Send Args[0].From; also written to Mem, if not empty
	Put                        // writes Args[0] to Mem of another PE
	Get                        // value: what Mem of another PE holds at the start
	Notify                     // changes a signal of PE Peer
	WaitSignal                 // the wait ended because of the Notify operations Args
	Scratch                    // Mem is new scratch memory, filled with zeros
	HostWrite                  // writes Data to Mem
	HostRead                   // value: what Mem holds, for the host
	Zero                       // Mem is newly allocated and filled with zeros
	Barrier                    // everything before it happened before everything after it; see also Order
	Wait                       // Args[0].From, a composite or a receive, has ended
	TaskBegin                  // task number Peer of its rank, named Line, begins after the TaskEnd operations Args
	TaskEnd                    // task number Peer, with everything that it started, has ended
	// ReducePeers is a composite: Math of Args, which are at several PEs and are combined
	// one after another, then Epilogue, as DType to Mem.
	ReducePeers
	NumKinds
)

// IsComposite reports whether operations of kind k are composites: commands that read
// operands from memory and write the result to memory.
func (k Kind) IsComposite() bool { return k == Gemm || k == Stream || k == ReducePeers }

// Order returns a Barrier that orders only two launches: launch number `then`, which has
// not begun, begins after launch number `first` has ended.
func Order(first, then int32) Op {
	return Op{Kind: Barrier, PE: -1, Launch: first, Peer: then, Port: -1}
}

// MaxRank is the largest number of axes of a tile.
const MaxRank = 4

// Shape holds the extents of a tile, outermost first. It is comparable.
type Shape struct {
	Rank int8
	Dim  [MaxRank]int32
}

// Elems returns the number of elements.
func (s Shape) Elems() int {
	n := 1
	for _, d := range s.Dim[:s.Rank] {
		n *= int(d)
	}
	return n
}

// Space identifies a memory of the machine.
type Space struct {
	Kind          SpaceKind
	SIP, Cube, PE int32 // PE is 0 for SRAM
}

// SpaceKind is the kind of a memory.
type SpaceKind uint8

// The kinds of memory.
const (
	HBM SpaceKind = iota + 1
	SRAM
	TCM
)

// Access is a sequence of rows in one memory: Rows rows of RowBytes bytes, Stride bytes
// apart.
type Access struct {
	Space    Space
	Addr     int64
	Rows     int64
	RowBytes int64
	Stride   int64
}

// Bytes returns the size of the access in bytes.
func (a Access) Bytes() int64 { return a.Rows * a.RowBytes }

// Operand is an operand of an operation: the value of another operation, memory (for
// composites and sends), or a number.
type Operand struct {
	From   ID       // the operation that produces the value; 0 for memory and numbers
	Mem    []Access // the pieces of an operand in memory, row-major
	Shape  Shape    // a number has rank 0 and neither From nor Mem
	DType  numeric.DType
	Scalar float64 // the number, rounded to DType where it is used
}

// Step is one operation of the epilogue of a composite. It computes Math(result, Args...)
// from the previous result, in the dtype of the accumulator.
type Step struct {
	Math numeric.Op
	Args []Operand
}

// Op is one operation.
type Op struct {
	ID     ID
	Kind   Kind
	Math   numeric.Op // for Math, Reduce, Stream and ReducePeers
	Axis   int8       // for Reduce
	DType  numeric.DType
	Shape  Shape // shape of the value, or of what is written
	Box    Shape // the extents that are in memory, if not all of Shape; see Load
	Fill   float64
	PE     int32 // -1 for the host
	Launch int32 // index in Log.Launches, -1 for the host
	Line   int32 // index in Log.Lines: the source line of the call; for TaskBegin, the name of the task
	Peer   int32 // for Put, Get and Notify, the other PE; for TaskBegin and TaskEnd, the number of the task
	Port   int32 // for Send and Recv
	Signal int32 // for Notify and WaitSignal
	Tiles  int32 // for composites, the number of matrix tiles

	Issue, Start, End simtime.Time
	Cause             ID // the operation whose end released this one, or 0

	Args     []Operand
	Mem      []Access // memory that is read or written, row-major pieces of the value
	Epilogue []Step
	Data     []byte // for HostWrite
	Shared   bool   // other operations have the same Data, so it must not change; not saved
	Digest   uint64 // for HostRead: 64-bit FNV-1a hash of the bytes read; 0 if unknown
}

// Phase distinguishes the reads and the writes of operations.
type Phase uint8

// The phases. A read returns what memory holds when the operation starts. A write changes
// memory when the operation ends. A composite has both phases.
const (
	Read Phase = iota
	Write
)

// Effect is the instant at which an operation reads or writes memory.
type Effect struct {
	Op    ID
	Phase Phase
}

// Launch is one run of a kernel.
type Launch struct {
	Name string
	PEs  []int32
}

// Log holds the operations of a run and the order of their effects.
//
// A transient log is only for the data phase, which takes its contents in batches while the
// run goes on (Take). It has only operations with values or effects, without times, causes,
// launches and names. After Take, records must not be changed: Match is the only exception.
type Log struct {
	Ops      []Op     // by ID - 1; in a transient log, those that have not been taken
	Effects  []Effect // in the order of time; ties in the order in which the machine resolved them
	Launches []Launch
	Lines    []string // source lines such as "kernel.go:12", and names of tasks; index 0 is ""
	PEs      []string // names by number, such as "sip0.cube5.pe3"

	Transient bool
	Full      func() // called before a transient log grows beyond a batch; nil for never

	lines   map[string]int32
	taken   ID      // number of operations that have been taken
	matches []Match // of receives that have been taken
	weight  int     // see fill
}

// Kept reports whether l keeps the records of all operations. The result is false if l is
// nil.
func (l *Log) Kept() bool { return l != nil && !l.Transient }

// Match is the Send that a receive takes its value from.
type Match struct {
	Recv ID
	From Operand
}

// Batch is a part of a transient log. The operations have consecutive IDs.
type Batch struct {
	Ops     []Op
	Effects []Effect
	Matches []Match
}

// Take moves the contents of a transient log to b. The log reuses the slices of b.
func (l *Log) Take(b *Batch) {
	l.taken += ID(len(l.Ops))
	l.Ops, b.Ops = b.Ops[:0], l.Ops
	l.Effects, b.Effects = b.Effects[:0], l.Effects
	l.matches, b.Matches = b.Matches[:0], l.matches
	l.weight = 0
}

// A batch has at most batchWeight operations and effects. batchBytes bytes of data of hosts
// count as an operation.
const (
	batchWeight = 4096
	batchBytes  = 16 << 10
)

// fill counts an entry of the given number of bytes. If the log has enough entries for a
// batch, fill calls Full first.
func (l *Log) fill(bytes int) {
	if l.weight >= batchWeight && l.Full != nil {
		l.Full()
	}
	l.weight += 1 + bytes/batchBytes
}

// Add appends an operation and assigns its ID.
func (l *Log) Add(op Op) ID {
	l.fill(len(op.Data))
	if len(l.Ops) == cap(l.Ops) {
		l.Ops = slices.Grow(l.Ops, max(1024, len(l.Ops))) // append would copy a long log more often
	}
	op.ID = l.taken + ID(len(l.Ops)) + 1
	l.Ops = append(l.Ops, op)
	return op.ID
}

// Op returns the operation with the given ID. The caller may change the returned record
// until the operation has ended.
func (l *Log) Op(id ID) *Op { return &l.Ops[id-1-l.taken] }

// Effect records that the operation with the given ID reads or writes memory at this point
// in the order of effects.
func (l *Log) Effect(id ID, p Phase) {
	l.fill(0)
	l.Effects = append(l.Effects, Effect{id, p})
}

// Match sets the operand of a receive, whose Send was unknown when the receive was added.
func (l *Log) Match(id ID, from Operand) {
	if id > l.taken {
		l.Op(id).Args[0] = from
	} else {
		l.matches = append(l.matches, Match{id, from})
	}
}

// NamePE sets the name of a PE.
func (l *Log) NamePE(pe int, name string) {
	for len(l.PEs) <= pe {
		l.PEs = append(l.PEs, "")
	}
	l.PEs[pe] = name
}

// Line returns the index of a text in Lines. The text is a source line or the name of a
// task. Line adds it to Lines if necessary.
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

// String returns the name of the kind, such as "Load".
func (k Kind) String() string { return printable.Name("Kind", k, kindNames[:]) }

// String returns "read" or "write".
func (p Phase) String() string { return printable.Name("Phase", p, []string{"read", "write"}) }

// String returns the extents in brackets, such as "[32 64]".
func (s Shape) String() string { return fmt.Sprint(s.Dim[:s.Rank]) }

// String returns the name of the memory in the topology, such as "sip0.cube5.hbm3".
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

// Describe returns the text by which errors name an operation, such as "operation 12
// (Store at copy.go:7 of kernel copy on sip0.cube5.pe3)".
func (l *Log) Describe(id ID) string {
	if last := l.taken + ID(len(l.Ops)); id <= l.taken || id > last {
		return fmt.Sprintf("operation %d (not in the log, which has %d)", id, last)
	}
	return l.DescribeOp(l.Op(id))
}

// DescribeOp returns the text by which errors name op. The log need not contain op.
func (l *Log) DescribeOp(op *Op) string {
	text := fmt.Sprintf("operation %d (%v", op.ID, op.Kind)
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
