package bench

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// launchAndCheck launches a kernel that adds 1 to one element on each of two PEs, and
// checks that the elements are 1 and `want`. If `race` is set, the first PE instead writes
// the element of the second PE at the same time.
func launchAndCheck(b *B, name string, want int, race bool) error {
	x, err := b.Zeros(torch.F16, torch.Shape{2}, torch.On(0, 1))
	if err != nil {
		return err
	}
	if _, err := b.Launch(name, func(t *tl.PE, x tl.Ptr) {
		if race && t.Rank() == 0 {
			t.Put(1, x, t.Full(tl.Shape{1}, tl.F16, 1))
		} else {
			t.Store(x, t.Load(x, tl.Shape{1}, tl.F16).Add(1))
		}
	}, x); err != nil {
		return err
	}
	return b.Check(name, x, []int{1, want})
}

// parts returns a bench of three parts with checks between them. The second part runs on
// another machine.
func parts(t *testing.T, race bool) Bench {
	spec, err := topology.Load(t.Context(), "default", "system.sips.count=1")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return Bench{Name: "parts", Row: shareRow{}, Run: func(b *B) error {
		torch.OK(launchAndCheck(b, "first", 1, false))
		torch.OK(b.Machine(g, func(on *B) error {
			on.Row(shareRow{float64(on.NumPEs())})
			on.Notef("%d PEs", on.NumPEs())
			on.AddCheck(torch.Check{Name: "second begins"})
			return launchAndCheck(on, "second", 1, race)
		}))
		torch.OK(launchAndCheck(b, "third", 2, false))
		b.AddCheck(torch.Check{Name: "third ends"})
		return nil
	}}
}

// TestMachine runs a part of a bench on another machine. It checks that the result contains
// the checks, launches, rows, notes and races of that part, in order.
func TestMachine(t *testing.T) {
	r := execute(t, parts(t, false), Options{Options: torch.Options{PerRank: true, Race: true}})
	want := torch.Checks{
		{Name: "first", Elems: 2}, {Name: "second begins"}, {Name: "second", Elems: 2},
		{Name: "third", Elems: 2, Wrong: "element 1 is 1, want 2"}, {Name: "third ends"},
	}
	if diff := cmp.Diff(want, r.Checks); diff != "" || r.OK {
		t.Errorf("ok %v, checks (-want +got):\n%s", r.OK, diff)
	}
	var launches []string
	var crit torch.Time
	for _, l := range r.Launches {
		launches, crit = append(launches, l.Name), max(crit, l.Crit)
	}
	if diff := cmp.Diff([]string{"first", "second", "third"}, launches); diff != "" || r.Crit != crit || crit == 0 {
		t.Errorf("critical path %v, want %v; launches (-want +got):\n%s", r.Crit, crit, diff)
	}
	if diff := cmp.Diff([]any{"128", "128 PEs"}, []any{r.Rows.Text(0, 0), r.Notes[0]}); diff != "" || len(r.Races) != 0 {
		t.Errorf("races %v, row and note (-want +got):\n%s", r.Races, diff)
	}
	r = execute(t, parts(t, true), Options{Options: torch.Options{Race: true}})
	if len(r.Races) != 1 {
		t.Errorf("races %q, want one race, of the other machine", r.Races)
	}
}

// TestMachineRefused checks that Machine returns an error if the options ask for an op log
// or a trace.
func TestMachineRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, o := range map[string]Options{"log": {Log: "x"}, "trace": {Options: torch.Options{Trace: "x"}}} {
		_, err := parts(t, false).Execute(t.Context(), o)
		var param *ParamError
		if !errors.As(err, &param) || param.Name != name {
			t.Errorf("got %v, want one about --%s", err, name)
		}
	}
}
