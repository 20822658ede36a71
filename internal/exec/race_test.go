package exec

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
)

// script is a log of accesses and of operations that order them. Each operation has its
// own source line.
type script struct{ oplog.Log }

func (s *script) op(pe int32, op oplog.Op) oplog.ID {
	op.PE = pe
	op.Line = s.Line(fmt.Sprintf("k.go:%d", len(s.Ops)+1))
	return s.Add(op)
}

func (s *script) load(pe int32, mem ...oplog.Access) oplog.ID {
	return s.op(pe, oplog.Op{Kind: oplog.Load, Mem: mem})
}

func (s *script) store(pe int32, mem ...oplog.Access) oplog.ID {
	return s.op(pe, oplog.Op{Kind: oplog.Store, Mem: mem})
}

func (s *script) send(pe int32) oplog.ID { return s.op(pe, oplog.Op{Kind: oplog.Send}) }

// after appends an operation of the given kind to the log. Its operands are the operations
// in `from`.
func (s *script) after(pe int32, kind oplog.Kind, from ...oplog.ID) oplog.ID {
	op := oplog.Op{Kind: kind}
	for _, id := range from {
		op.Args = append(op.Args, oplog.Operand{From: id})
	}
	return s.op(pe, op)
}

// gemm appends a composite to the log. The composite reads the region `from` and writes the
// region `to`.
func (s *script) gemm(pe int32, from, to oplog.Access) oplog.ID {
	return s.op(pe, oplog.Op{Kind: oplog.Gemm, Args: []oplog.Operand{{Mem: []oplog.Access{from}}}, Mem: []oplog.Access{to}})
}

// reduce appends a reduction over peers to the log. The reduction reads the regions in
// `from` and writes the region `to`.
func (s *script) reduce(pe int32, to oplog.Access, from ...oplog.Access) oplog.ID {
	op := oplog.Op{Kind: oplog.ReducePeers, Mem: []oplog.Access{to}}
	for _, a := range from {
		op.Args = append(op.Args, oplog.Operand{Mem: []oplog.Access{a}})
	}
	return s.op(pe, op)
}

func bytesAt(addr, n int64) oplog.Access { return at(addr, n)[0] }

// TestRaces checks that Races finds the races in logs written by hand, and that it
// recognizes every rule that orders accesses. Operations are numbered from 1.
func TestRaces(t *testing.T) {
	x, y := bytesAt(0, 8), bytesAt(100, 8)
	type pairs = [][2]oplog.ID
	tests := []struct {
		name string
		log  func(s *script)
		want pairs
	}{
		{"write and read", func(s *script) { s.store(0, x); s.load(1, x) }, pairs{{1, 2}}},
		{"read and write", func(s *script) { s.load(0, x); s.store(1, x) }, pairs{{1, 2}}},
		{"two writes", func(s *script) { s.store(0, x); s.store(1, x) }, pairs{{1, 2}}},
		{"two reads", func(s *script) { s.load(0, x); s.load(1, x) }, nil},
		{"one PE", func(s *script) { s.store(0, x); s.load(0, x) }, nil},
		{"different bytes", func(s *script) { s.store(0, x); s.load(1, y) }, nil},
		{"another memory", func(s *script) {
			s.store(0, x)
			s.load(1, oplog.Access{Space: oplog.Space{Kind: oplog.TCM}, Rows: 1, RowBytes: 8})
		}, nil},
		{"the last byte", func(s *script) { s.store(0, bytesAt(0, 20000)); s.load(1, bytesAt(19999, 8)) }, pairs{{1, 2}}},
		{"one byte apart", func(s *script) { s.store(0, bytesAt(0, 20000)); s.load(1, bytesAt(20000, 8)) }, nil},
		{"columns side by side", func(s *script) {
			s.store(0, oplog.Access{Space: hbm, Addr: 0, Rows: 1000, RowBytes: 32, Stride: 64})
			s.store(1, oplog.Access{Space: hbm, Addr: 32, Rows: 1000, RowBytes: 32, Stride: 64})
		}, nil},
		{"columns that share a byte", func(s *script) {
			s.store(0, oplog.Access{Space: hbm, Addr: 0, Rows: 1000, RowBytes: 33, Stride: 64})
			s.store(1, oplog.Access{Space: hbm, Addr: 32, Rows: 1000, RowBytes: 32, Stride: 64})
		}, pairs{{1, 2}}},
		{"rows far apart", func(s *script) {
			s.store(0, oplog.Access{Space: hbm, Addr: 0, Rows: 5, RowBytes: 100, Stride: 1 << 20})
			s.load(1, bytesAt(4<<20+99, 1))
			s.load(1, bytesAt(4<<20+100, 1<<19))
		}, pairs{{1, 2}}},
		{"rows backwards", func(s *script) {
			s.store(0, oplog.Access{Space: hbm, Addr: 512, Rows: 9, RowBytes: 8, Stride: -64})
			s.load(1, bytesAt(7, 1))
			s.load(1, bytesAt(8, 56))
		}, pairs{{1, 2}}},
		{"queue", func(s *script) { s.store(0, x); q := s.send(0); s.after(1, oplog.Recv, q); s.load(1, x) }, nil},
		{"queue, but stored after the send", func(s *script) {
			q := s.send(0)
			s.store(0, x)
			s.after(1, oplog.Recv, q)
			s.load(1, x)
		}, pairs{{2, 4}}},
		{"queue, but loaded before the receive", func(s *script) {
			s.store(0, x)
			q := s.send(0)
			s.load(1, x)
			s.after(1, oplog.Recv, q)
		}, pairs{{1, 3}}},
		{"queue back", func(s *script) { s.load(0, x); q := s.send(1); s.after(0, oplog.Recv, q); s.store(1, x) }, pairs{{1, 4}}},
		{"chain over third PEs", func(s *script) {
			s.store(0, x)
			for pe := range int32(5) {
				s.after(pe+1, oplog.Recv, s.send(pe))
			}
			s.store(5, x)
		}, nil},
		{"chain in the wrong order", func(s *script) {
			s.store(0, x)
			q := s.send(1) // before PE 1 knows of the store
			s.after(1, oplog.Recv, s.send(0))
			s.after(2, oplog.Recv, q)
			s.load(2, x)
		}, pairs{{1, 6}}},
		{"receive posted before the send", func(s *script) {
			r := s.after(1, oplog.Recv, 0)
			s.store(0, x)
			s.Op(r).Args[0].From = s.send(0)
			s.load(1, x)
		}, nil},
		{"asynchronous receive", func(s *script) {
			s.store(0, x)
			s.store(0, y)
			r := s.after(1, oplog.Recv, s.send(0))
			s.load(1, x)
			s.after(1, oplog.Wait, r)
			s.load(1, y)
		}, pairs{{1, 5}}},
		{"asynchronous receive without a wait", func(s *script) {
			r := s.after(1, oplog.Recv, 0)
			s.load(1, x)
			s.store(0, x)
			s.store(0, y)
			s.Op(r).Args[0].From = s.send(0)
			s.after(1, oplog.Cast, r) // uses the message
			s.load(1, y)
		}, pairs{{2, 3}}},
		{"receive to memory", func(s *script) {
			s.load(0, x)
			r := s.after(1, oplog.Recv, s.send(0))
			s.Op(r).Mem = []oplog.Access{x}
		}, nil},
		{"receive to memory that is in use", func(s *script) {
			r := s.after(1, oplog.Recv, 0)
			s.Op(r).Mem = []oplog.Access{x}
			s.Op(r).Args[0].From = s.send(0)
			s.load(0, x)
		}, pairs{{1, 3}}},
		{"send from memory", func(s *script) {
			q := s.op(0, oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{{Mem: []oplog.Access{x}}}})
			s.store(2, x)
			s.after(1, oplog.Recv, q)
			s.store(1, x)
		}, pairs{{1, 2}, {2, 4}}},
		{"signal", func(s *script) {
			s.op(0, oplog.Op{Kind: oplog.Put, Mem: []oplog.Access{x}})
			s.op(2, oplog.Op{Kind: oplog.Put, Mem: []oplog.Access{y}})
			a, b := s.op(0, oplog.Op{Kind: oplog.Notify}), s.op(2, oplog.Op{Kind: oplog.Notify})
			s.after(1, oplog.WaitSignal, a, b)
			s.load(1, x, y)
		}, nil},
		{"signal of another PE", func(s *script) {
			s.store(0, x)
			s.op(0, oplog.Op{Kind: oplog.Notify})
			s.after(1, oplog.WaitSignal, s.op(2, oplog.Op{Kind: oplog.Notify}))
			s.op(1, oplog.Op{Kind: oplog.Get, Mem: []oplog.Access{x}})
		}, pairs{{1, 5}}},
		{"task after a task", func(s *script) {
			s.after(0, oplog.TaskBegin)
			s.store(0, x)
			s.after(1, oplog.TaskBegin, s.op(0, oplog.Op{Kind: oplog.TaskEnd}))
			s.load(1, x)
		}, nil},
		{"two unordered tasks", func(s *script) {
			s.after(0, oplog.TaskBegin)
			s.store(0, x)
			s.op(0, oplog.Op{Kind: oplog.TaskEnd})
			s.after(1, oplog.TaskBegin)
			s.load(1, x)
		}, pairs{{2, 5}}},
		{"task after another task", func(s *script) {
			s.store(0, x)
			s.op(0, oplog.Op{Kind: oplog.TaskEnd})
			s.store(2, y)
			s.after(1, oplog.TaskBegin, s.op(2, oplog.Op{Kind: oplog.TaskEnd}))
			s.load(1, x)
			s.load(1, y)
		}, pairs{{1, 6}}},
		{"task after two tasks", func(s *script) {
			s.store(0, x)
			s.store(2, y)
			s.after(1, oplog.TaskBegin, s.op(0, oplog.Op{Kind: oplog.TaskEnd}), s.op(2, oplog.Op{Kind: oplog.TaskEnd}))
			s.store(1, x, y)
		}, nil},
		{"task with a composite that was not waited for", func(s *script) {
			s.gemm(0, x, y)
			s.after(1, oplog.TaskBegin, s.op(0, oplog.Op{Kind: oplog.TaskEnd}))
			s.store(1, x, y)
		}, nil},
		{"stored after the end of the task", func(s *script) {
			end := s.op(0, oplog.Op{Kind: oplog.TaskEnd})
			s.store(0, x)
			s.after(1, oplog.TaskBegin, end)
			s.load(1, x)
		}, pairs{{2, 4}}},
		{"barrier", func(s *script) { s.store(0, x); s.op(0, oplog.Op{Kind: oplog.Barrier}); s.load(1, x) }, nil},
		{"host", func(s *script) {
			s.store(0, x)
			s.op(-1, oplog.Op{Kind: oplog.HostRead, Mem: []oplog.Access{x}})
			s.store(1, x)
		}, nil},
		{"host between a receive and its send", func(s *script) {
			r := s.after(1, oplog.Recv, 0)
			s.Op(r).Mem = []oplog.Access{y}
			s.load(0, y)
			s.op(-1, oplog.Op{Kind: oplog.HostRead})
			s.store(0, x)
			s.load(2, y)
			s.Op(r).Args[0].From = s.send(0)
			s.load(1, x)
		}, pairs{{1, 5}}},
		{"composite and others", func(s *script) { s.gemm(0, x, y); s.store(1, x); s.load(1, y) }, pairs{{1, 2}, {1, 3}}},
		{"reduction over peers and a peer", func(s *script) { s.reduce(0, y, x, bytesAt(50, 8)); s.store(1, x); s.store(2, bytesAt(50, 8)) }, pairs{{1, 2}, {1, 3}}},
		{"reduction over peers, notified before and after", func(s *script) {
			s.store(1, x)
			s.after(0, oplog.WaitSignal, s.op(1, oplog.Op{Kind: oplog.Notify}))
			s.after(0, oplog.Wait, s.reduce(0, y, x, bytesAt(50, 8)))
			s.after(1, oplog.WaitSignal, s.op(0, oplog.Op{Kind: oplog.Notify}))
			s.store(1, x)
		}, nil},
		{"reduction over peers that are notified too early", func(s *script) {
			s.reduce(0, y, x)
			s.after(1, oplog.WaitSignal, s.op(0, oplog.Op{Kind: oplog.Notify}))
			s.store(1, x)
		}, pairs{{1, 4}}},
		{"composite and its own PE", func(s *script) { s.gemm(0, x, y); s.load(0, y); s.store(0, x) }, nil},
		{"composite that was not waited for", func(s *script) { s.gemm(0, x, y); s.after(1, oplog.Recv, s.send(0)); s.load(1, y) }, pairs{{1, 4}}},
		{"composite that was waited for", func(s *script) {
			s.after(0, oplog.Wait, s.gemm(0, x, y))
			s.after(1, oplog.Recv, s.send(0))
			s.store(1, x, y)
		}, nil},
		{"composite after a receive of its PE", func(s *script) {
			s.store(1, x)
			s.after(0, oplog.Recv, s.send(1))
			s.gemm(0, x, y)
		}, nil},
		{"composite before a receive of its PE", func(s *script) {
			s.gemm(0, x, y)
			s.store(1, x)
			s.after(0, oplog.Recv, s.send(1))
		}, pairs{{1, 2}}},
		{"composite that the hardware waited for", func(s *script) {
			s.gemm(0, x, y)
			s.load(0, y)
			s.after(1, oplog.Recv, s.send(0))
			s.store(1, x, y)
		}, nil},
		{"composite whose read the hardware waited for", func(s *script) {
			s.gemm(0, x, y)
			s.store(0, x)
			s.after(1, oplog.Recv, s.send(0))
			s.store(1, x)
			s.store(1, y)
		}, pairs{{1, 6}}},
		{"two composites", func(s *script) {
			s.gemm(0, x, y)
			s.after(0, oplog.Wait, s.gemm(0, y, x)) // after the first composite
			s.after(1, oplog.Recv, s.send(0))
			s.store(1, x, y)
		}, nil},
		{"two composites at the same time", func(s *script) {
			s.gemm(0, x, y)
			s.after(0, oplog.Wait, s.gemm(0, bytesAt(200, 8), bytesAt(300, 8)))
			s.after(1, oplog.Recv, s.send(0))
			s.store(1, bytesAt(300, 8))
			s.store(1, y)
		}, pairs{{1, 7}}},
		{"launch", func(s *script) {
			s.Launches = []oplog.Launch{{Name: "a", PEs: []int32{0, 1}}, {Name: "b", PEs: []int32{1, 2}}, {Name: "c", PEs: []int32{3}}}
			s.store(0, x)                                                                        // 1
			s.store(1, y)                                                                        // 2
			s.gemm(1, bytesAt(200, 8), bytesAt(300, 8))                                          // 3
			s.op(3, oplog.Op{Kind: oplog.Load, Launch: 2, Mem: []oplog.Access{bytesAt(400, 8)}}) // 4
			s.op(2, oplog.Op{Kind: oplog.Load, Launch: 1, Mem: []oplog.Access{y, bytesAt(300, 8)}})
			s.op(2, oplog.Op{Kind: oplog.Load, Launch: 1, Mem: []oplog.Access{x}})
		}, pairs{{1, 6}}},
		{"next launch of all", func(s *script) {
			s.Launches = []oplog.Launch{{Name: "a", PEs: []int32{0}}, {Name: "b", PEs: []int32{0, 1}}}
			s.store(0, x)
			s.op(1, oplog.Op{Kind: oplog.Load, Launch: 1, Mem: []oplog.Access{x}})
		}, nil},
		{"scratch is new", func(s *script) {
			s.store(0, bytesAt(0, 20))
			s.op(1, oplog.Op{Kind: oplog.Scratch, Mem: []oplog.Access{bytesAt(4, 8)}})
			s.load(1, bytesAt(4, 8))
			s.load(1, bytesAt(12, 1))
			s.load(2, bytesAt(4, 1))
		}, pairs{{1, 4}, {2, 5}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{}
			tt.log(s)
			races, err := Races(&s.Log)
			if err != nil {
				t.Fatal(err)
			}
			var got pairs
			for _, r := range races {
				got = append(got, [2]oplog.ID{r.A, r.B})
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("races between operations %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRaceText checks the text of a race, and that each pair of source lines is reported
// only once.
func TestRaceText(t *testing.T) {
	s := &script{oplog.Log{PEs: []string{"sip0.cube0.pe0", "sip0.cube0.pe1"}}}
	s.Launches = []oplog.Launch{{Name: "copy", PEs: []int32{0, 1}}}
	for range 3 { // the race must be reported once
		for pe := range int32(2) {
			op := oplog.Op{Kind: oplog.Store, PE: pe, Line: s.Line(fmt.Sprintf("copy.go:%d", 7+pe)), Mem: at(16+int64(pe), 8)}
			s.Add(op)
		}
	}
	races, err := Races(&s.Log)
	if err != nil || len(races) != 1 {
		t.Fatalf("Races = %v, %v, want one", races, err)
	}
	const want = "race at 0x11 of sip0.cube0.hbm0: operation 1 (Store at copy.go:7 of kernel copy on sip0.cube0.pe0) and " +
		"operation 2 (Store at copy.go:8 of kernel copy on sip0.cube0.pe1) have no order; order them by a queue, a signal, a barrier or an edge between tasks, or let them touch different bytes"
	if got := races[0].String(); got != want {
		t.Errorf("String()\n got %s\nwant %s", got, want)
	}
}

// TestRaceErrors checks the errors of Races for invalid logs.
func TestRaceErrors(t *testing.T) {
	tests := []struct {
		op   oplog.Op
		want string
	}{
		{oplog.Op{Kind: oplog.Wait, Args: []oplog.Operand{{From: 2}}}, "operation 1 (Wait on PE 0) refers to operation 2, the last is 1; correct what made the log"},
		{oplog.Op{Kind: oplog.Load, Mem: at(0, 1<<40)}, "operation 1 (Load on PE 0): it touches 1099511627776 bytes of memory, more than the 4294967296 that it may; correct what made the log"},
		{oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{{Mem: at(0, -1)}}}, "operation 1 (Send on PE 0): an access of 1 rows of -1 bytes is none; correct what made the log"},
	}
	for _, tt := range tests {
		b := &builder{}
		b.op(tt.op)
		if _, err := Races(&b.Log); err == nil || err.Error() != tt.want {
			t.Errorf("Races error\n got %v\nwant %s", err, tt.want)
		}
	}
}

// TestRacesAgainstGraph checks that Races finds the same pairs of lines in random logs as a
// reference. The reference builds the whole happens-before graph and compares every byte of
// every pair of accesses.
func TestRacesAgainstGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rand.NewChaCha8([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")))
		log := randomAccesses(rand.New(noise), rapid.IntRange(1, 100).Draw(t, "operations"))
		races, err := Races(log)
		if err != nil {
			t.Fatal(err)
		}
		got := map[[2]int32]bool{}
		for _, r := range races {
			a, b := log.Op(r.A).Line, log.Op(r.B).Line
			got[[2]int32{min(a, b), max(a, b)}] = true
		}
		want := findRaces(log)
		if maps.Equal(got, want) {
			return
		}
		t.Logf("launches %v", log.Launches)
		for i := range log.Ops {
			op := &log.Ops[i]
			t.Logf("%d: PE %d launch %d line %d %v %v %v", op.ID, op.PE, op.Launch, op.Line, op.Kind, op.Args, op.Mem)
		}
		t.Fatalf("wrongly reported races between lines: %v\nraces not found: %v", difference(got, want), difference(want, got))
	})
}

// difference returns the pairs of lines that are in a and not in b.
func difference(a, b map[[2]int32]bool) (pairs [][2]int32) {
	for p := range a {
		if !b[p] {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	return pairs
}

// BenchmarkRaces measures Races on a log of 100,000 accesses by 256 PEs in a ring. In each
// round, a PE loads from its own memory, stores to its own memory and to its neighbour's
// memory, and sends to the neighbour.
func BenchmarkRaces(b *testing.B) {
	const pes, rounds = 256, 128
	s := &script{}
	lines := []int32{s.Line("ring.go:1"), s.Line("ring.go:2"), s.Line("ring.go:3")}
	for round := range int64(rounds) {
		var sends [pes]oplog.ID
		for pe := range int32(pes) {
			mem := func(of int32, addr int64) []oplog.Access {
				return []oplog.Access{{Space: oplog.Space{Kind: oplog.HBM, PE: of % pes}, Addr: addr, Rows: 8, RowBytes: 128, Stride: 256}}
			}
			s.Add(oplog.Op{Kind: oplog.Load, PE: pe, Line: lines[0], Mem: mem(pe, 1<<20+round*128)})
			s.Add(oplog.Op{Kind: oplog.Store, PE: pe, Line: lines[1], Mem: mem(pe, round*2048)})
			s.Add(oplog.Op{Kind: oplog.Put, PE: pe, Line: lines[2], Mem: mem(pe+1, round*2048+128)})
			sends[pe] = s.Add(oplog.Op{Kind: oplog.Send, PE: pe})
		}
		for pe := range int32(pes) {
			s.Add(oplog.Op{Kind: oplog.Recv, PE: pe, Args: []oplog.Operand{{From: sends[(pe+pes-1)%pes]}}})
		}
	}
	const accesses = 3 * pes * rounds
	for b.Loop() {
		if races, err := Races(&s.Log); err != nil || races != nil {
			b.Fatal(races, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*accesses), "ns/access")
}

// TestOrderOfLaunches checks the order of two launches that share no PEs. If the second
// launch follows the first in a stream, it comes after everything that the PEs of the first
// launch did. If not, the accesses of the two launches race.
func TestOrderOfLaunches(t *testing.T) {
	x := bytesAt(0, 8)
	for _, ordered := range []bool{false, true} {
		s := &script{oplog.Log{Launches: []oplog.Launch{{Name: "a", PEs: []int32{0}}, {Name: "b", PEs: []int32{1}}}}}
		s.op(2, oplog.Op{Kind: oplog.Load, Mem: []oplog.Access{bytesAt(512, 8)}}) // a PE of neither launch
		s.store(0, x)
		if ordered {
			s.Add(oplog.Order(0, 1))
		}
		s.Op(s.load(1, x)).Launch = 1
		races, err := Races(&s.Log)
		if err != nil || (len(races) == 0) != ordered {
			t.Errorf("ordered %v: races %v, error %v", ordered, races, err)
		}
	}
}
