package oplog

import "fmt"

var kindNames = [NumKinds]string{
	Load: "Load", Store: "Store", Full: "Full", Arange: "Arange", Math: "Math", Reduce: "Reduce", Softmax: "Softmax",
	Dot: "Dot", Cast: "Cast", Trans: "Trans", Reshape: "Reshape", Broadcast: "Broadcast", Gemm: "Gemm", Stream: "Stream",
	Send: "Send", Recv: "Recv", Put: "Put", Get: "Get", Notify: "Notify", WaitSignal: "WaitSignal", Scratch: "Scratch",
	HostWrite: "HostWrite", HostRead: "HostRead", Zero: "Zero", Barrier: "Barrier", Wait: "Wait",
	TaskBegin: "TaskBegin", TaskEnd: "TaskEnd", ReducePeers: "ReducePeers",
}

// String is the name of the kind: "Load".
func (k Kind) String() string {
	if k == 0 || k >= NumKinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// String is "read" or "write".
func (p Phase) String() string {
	if p == Read {
		return "read"
	}
	return "write"
}

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
