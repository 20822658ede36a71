package torch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// partPointer returns a pointer to the part of x on a SIP. It ends the test if there is no
// such part.
func partPointer(l *hostedtest.Lab, x *torch.Tensor, sip int) tl.Ptr {
	l.T.Helper()
	va, _, shape, ok := x.PartOn(sip)
	if !ok {
		l.T.Fatalf("no part on SIP %d", sip)
	}
	p := tl.Ptr{Addr: va, DType: x.DType(), Rank: int8(len(shape))}
	stride := int64(1)
	for axis := len(shape) - 1; axis >= 0; axis-- {
		p.Stride[axis], p.Extent[axis] = stride, int32(shape[axis])
		stride *= int64(shape[axis])
	}
	return p
}

// runToEnd runs the program p and waits until it has ended. `tensors` lists the tensors
// that p uses.
func runToEnd(l *hostedtest.Lab, p *machine.Program, tensors ...*torch.Tensor) *torch.Launched {
	l.T.Helper()
	r, err := l.RunProgram(p, tensors...)
	if err == nil {
		err = r.Wait()
	}
	if err != nil {
		l.T.Fatal(err)
	}
	return r
}

// waitText describes what a worker waits for, in reports of deadlocks.
type waitText string

func (s waitText) String() string { return string(s) }

// operands returns a list of operands for a TaskBegin. The operands make the task depend on
// the operations with the given ids.
func operands(ids []oplog.ID) (list []oplog.Operand) {
	for _, id := range ids {
		list = append(list, oplog.Operand{From: id})
	}
	return list
}

// relay returns a program in which two PEs each run a machine.Worker. A task of the first
// worker writes y = x + 1; then a task of the second worker writes z = 2 y. If edge is
// true, the op log records that the second task depends on the first.
func relay(l *hostedtest.Lab, x, y, z *torch.Tensor, edge bool) *machine.Program {
	px, py, pz := partPointer(l, x, 0), partPointer(l, y, 0), partPointer(l, z, 0)
	var workers [2]*machine.Worker
	var ended []oplog.ID
	runTask := func(w *machine.Worker, name string, after []oplog.ID, body func(t *tl.PE)) oplog.ID {
		w.Begin(name, w.Rank(), operands(after), 0)
		w.Run(name, func(m tl.Machine) { body(tl.NewPE(m, name)) })
		return w.End(w.Rank())
	}
	return &machine.Program{Name: "relay", Targets: []machine.PEID{1, 0}, Serve: func(w *machine.Worker) {
		workers[w.Rank()] = w
		if w.Rank() == 0 {
			end := runTask(w, "add", nil, func(t *tl.PE) { t.Store(py, t.Load(px, tl.Shape{64}, tl.I32).Add(1)) })
			if edge {
				ended = append(ended, end)
			}
			workers[1].Wake()
			return
		}
		w.Wait(waitText("the other"))
		runTask(w, "double", ended, func(t *tl.PE) { t.Store(pz, t.Load(py, tl.Shape{64}, tl.I32).Mul(2)) })
	}}
}

// TestRunProgram checks that a program whose PEs run tasks is ordered in the stream as a
// launch is: it sees the results of earlier operations, and later operations see its
// results.
func TestRunProgram(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x, y, z := l.Ints(hostedtest.Fill(0, 64), torch.I32, torch.On(0)), l.MustZeros(torch.I32, torch.On(1), 64), l.MustZeros(torch.I32, torch.On(2), 64)
	add := func(t *tl.PE, x tl.Ptr) { t.Store(x, t.Load(x, tl.Shape{64}, tl.I32).Add(20)) }
	if _, err := l.Launch("before", add, x); err != nil {
		t.Fatal(err)
	}
	r, err := l.RunProgram(relay(l, x, y, z, true), x, y, z)
	if err != nil {
		t.Fatal(err)
	}
	after, err := l.Launch("after", add, z)
	if err != nil {
		t.Fatal(err)
	}
	l.Holds("z", z, hostedtest.Fill(62, 64))
	first, second := r.Exec()[0], r.Exec()[1]
	if !(0 < first && first < second) || r.Crit() != second || after.Start() < r.Start()+second {
		t.Errorf("the workers end after %v and %v, the whole after %v, and what follows begins at %v; want the second last, and that before what follows", first, second, r.Crit(), after.Start()-r.Start())
	}
	if r.Name != "relay" {
		t.Errorf("the launch is called %q, want relay", r.Name)
	}
}

// TestTasksAreOrderedByTheirEnds checks that two tasks on the same memory race unless the
// op log has an edge between them, even if one ends before the other begins. It also checks
// that the op log can be saved and replayed.
func TestTasksAreOrderedByTheirEnds(t *testing.T) {
	for _, edge := range []bool{false, true} {
		l := hostedtest.New(t, torch.Options{Race: true, KeepLog: true})
		x, y, z := l.Ints(hostedtest.Fill(4, 64), torch.I32, torch.On(0)), l.MustZeros(torch.I32, torch.On(1), 64), l.MustZeros(torch.I32, torch.On(2), 64)
		runToEnd(l, relay(l, x, y, z, edge), x, y, z)
		l.Holds("z", z, hostedtest.Fill(10, 64))
		races, err := l.Races()
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if edge {
			want = 0
		}
		if len(races) != want || want == 1 && !strings.Contains(races[0], "(Store at runprogram_test.go:") {
			t.Errorf("with the edge %v: races %q, want %d", edge, races, want)
		}

		var file bytes.Buffer
		if err := oplog.Encode(&file, oplog.Header{Tool: "test"}, l.Log()); err != nil {
			t.Fatal(err)
		}
		_, log, err := oplog.Decode(t.Context(), &file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, op := range log.Ops {
			if op.Kind == oplog.TaskBegin || op.Kind == oplog.TaskEnd {
				got = append(got, fmt.Sprintf("%v %d %q on %d after %d", op.Kind, op.Peer, log.Lines[op.Line], op.PE, len(op.Args)))
			}
		}
		text := fmt.Sprintf(`[TaskBegin 0 "add" on 1 after 0 TaskEnd 0 "" on 1 after 0 TaskBegin 1 "double" on 0 after %d TaskEnd 1 "" on 0 after 0]`, 1-want)
		if fmt.Sprint(got) != text {
			t.Errorf("tasks in the file\n got %v\nwant %v", got, text)
		}
		if again, err := exec.Races(log); err != nil || len(again) != want {
			t.Errorf("with the edge %v: races of the file %v, %v, want %d", edge, again, err, want)
		}
		if r, err := exec.Replay(t.Context(), log, 2); err != nil || r.Reads != 1 || r.Unknown != 0 || r.Mismatched != nil {
			t.Errorf("Replay = %+v, %v, want one read as recorded", r, err)
		}
	}
}

// TestTasksAfterALongLog checks that programs give the right values after a long op log has
// been cleared between two programs.
func TestTasksAfterALongLog(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x, y, z := l.Ints(hostedtest.Fill(4, 64), torch.I32, torch.On(0)), l.MustZeros(torch.I32, torch.On(1), 64), l.MustZeros(torch.I32, torch.On(2), 64)
	for range 2 {
		runToEnd(l, relay(l, x, y, z, true), x, y, z)
		runToEnd(l, &machine.Program{Name: "long", Targets: []machine.PEID{0}, Serve: func(w *machine.Worker) {
			var ended []oplog.ID
			for i := range 100 {
				w.Begin("look", i, operands(ended), 0)
				w.Run("look", func(m tl.Machine) {
					for range 700 {
						if _, err := m.TestSignal(0, tl.EQ, 0); err != nil {
							panic(err)
						}
					}
				})
				ended = []oplog.ID{w.End(i)}
			}
		}}, z)
	}
	runToEnd(l, relay(l, x, y, z, true), x, y, z)
	l.Holds("z", z, hostedtest.Fill(10, 64))
	if n := len(l.Log().Ops); n > 70_000 {
		t.Errorf("the log has %d operations, want it begun anew", n)
	}
}

// TestRunProgramMisuse checks that RunProgram panics for a program that cannot be enqueued,
// and that Wait returns the error of a program that fails.
func TestRunProgramMisuse(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	serve := func(*machine.Worker) {}
	freed := l.MustZeros(torch.I32, torch.On(0), 64)
	if err := freed.Free(); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(){
		"torch: RunProgram: p runs on PE 0 twice": func() {
			l.RunProgram(&machine.Program{Name: "p", Targets: []machine.PEID{0, 0}, Serve: serve})
		},
		"torch: RunProgram: p runs on PE -1 of a system that has 0 to 255": func() {
			l.RunProgram(&machine.Program{Name: "p", Targets: []machine.PEID{-1}, Serve: serve})
		},
		"torch: RunProgram: a nil tensor":                     func() { l.RunProgram(&machine.Program{}, nil) },
		"torch: PartOn: tensor 1 [64] i32 has been freed":     func() { freed.PartOn(0) },
		"torch: RunProgram: tensor 1 [64] i32 has been freed": func() { l.RunProgram(&machine.Program{}, freed) },
	} {
		if err := hostedtest.Misuse(f); err == nil || err.Error() != want {
			t.Errorf("panic with %v, want %s", err, want)
		}
	}
	r, err := l.RunProgram(&machine.Program{Name: "p", Targets: []machine.PEID{0}, Serve: func(w *machine.Worker) {
		w.Run("task", func(m tl.Machine) { tl.NewPE(m, "task").Recv(tl.West, tl.Shape{64}, tl.I32) })
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"launch p: ", "task", "no port west"} {
		if err := r.Wait(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestPartOn checks, for several placements, whether the part of a tensor on a SIP is one
// block. If it is, the test checks the offset, size and shape of the block.
func TestPartOn(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	far := l.PE(1, 0, 0)
	for _, c := range []struct {
		name  string
		on    torch.Placement
		shape torch.Shape
		want  [2]string // by SIP
	}{
		{"one PE", torch.On(0), torch.Shape{10, 4}, [2]string{"0: 80 bytes [10 4]", "none"}},
		{"one PE far away", torch.On(far), torch.Shape{10, 4}, [2]string{"none", "0: 80 bytes [10 4]"}},
		{"rows", torch.On(0, 1, far), torch.Shape{10, 4}, [2]string{"0: 64 bytes [8 4]", "64: 16 bytes [2 4]"}},
		{"rows in turn", torch.On(0, far, 1), torch.Shape{10, 4}, [2]string{"none", "32: 32 bytes [4 4]"}},
		{"fewer rows than PEs", torch.On(0, 1, far), torch.Shape{2, 2, 2}, [2]string{"0: 16 bytes [2 2 2]", "none"}},
		{"one axis", torch.On(0, 1, far), torch.Shape{10}, [2]string{"0: 16 bytes [8]", "16: 4 bytes [2]"}},
		{"no axis", torch.On(0), torch.Shape{}, [2]string{"0: 2 bytes []", "none"}},
		{"empty", torch.On(0), torch.Shape{0, 4}, [2]string{"none", "none"}},
		{"copies", torch.OnEach(0, 1), torch.Shape{10, 4}, [2]string{"none", "none"}},
		{"a copy each", torch.OnEach(0, far), torch.Shape{10, 4}, [2]string{"0: 80 bytes [10 4]", "none"}},
		{"rows of cubes and PEs", torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}, torch.Shape{1000, 3}, [2]string{"0: 6000 bytes [1000 3]", "none"}},
		{"columns", torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}, torch.Shape{1000, 64}, [2]string{"none", "none"}},
		{"columns of one PE", torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumPEs: 1}, torch.Shape{1000, 64}, [2]string{"0: 128000 bytes [1000 64]", "none"}},
		{"addends", torch.DPPolicy{Cube: torch.Partial, NumPEs: 1}, torch.Shape{10, 4}, [2]string{"none", "none"}},
	} {
		x := l.MustZeros(torch.F16, c.on, c.shape...)
		var base int64
		l.MustLaunch("base", func(_ *tl.PE, p tl.Ptr) { base = p.Addr }, x, torch.PEs(255)) // a PE that holds no part of x
		for sip, want := range c.want {
			got := "none"
			if va, n, shape, ok := x.PartOn(sip); ok {
				got = fmt.Sprintf("%d: %d bytes %v", va-base, n, shape)
			}
			if got != want {
				t.Errorf("%s on SIP %d: %s, want %s", c.name, sip, got, want)
			}
		}
	}
}
