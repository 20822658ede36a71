package oplog

import "testing"

// TestText checks the texts of operations, memories, kinds, phases and shapes.
func TestText(t *testing.T) {
	_, l := sample()
	l.Op(4).PE = 9
	l.Add(Op{Kind: TaskBegin, PE: 1, Launch: 1, Line: 1})
	tests := []struct{ got, want string }{
		{l.Describe(1), "operation 1 (HostWrite by the host)"},
		{l.Describe(2), "operation 2 (Load at copy.go:7 of kernel copy on sip0.cube0.pe1)"},
		{l.Describe(4), "operation 4 (Barrier of kernel copy on PE 9)"},
		{l.Describe(5), "operation 5 (TaskBegin of task copy.go:7 of kernel idle on sip0.cube0.pe1)"},
		{l.Describe(6), "operation 6 (not in the log, which has 5)"},
		{Space{HBM, 0, 5, 3}.String(), "sip0.cube5.hbm3"},
		{Space{SRAM, 1, 2, 0}.String(), "sip1.cube2.sram"},
		{Space{TCM, 1, 2, 3}.String(), "sip1.cube2.pe3.tcm"},
		{Space{}.String(), "sip0.cube0.pe0: memory kind 0, of which there is none"},
		{Kind(0).String(), "Kind(0)"},
		{NumKinds.String(), "Kind(30)"},
		{Read.String() + " " + Write.String(), "read write"},
		{Shape{2, [MaxRank]int32{32, 64}}.String(), "[32 64]"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for k := Load; k < NumKinds; k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
