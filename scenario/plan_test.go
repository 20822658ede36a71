package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// plan parses the text of a scenario and plans it with choice c. The test fails if the text
// has mistakes.
func plan(t *testing.T, text string, c Choice) *Plan {
	t.Helper()
	s, err := Parse("sample.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	pl, err := s.Plan(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// TestPlan checks the plan of the sample scenario with the default choice.
func TestPlan(t *testing.T) {
	pl := plan(t, sample, Choice{})
	even := &Domain{Name: "even", Ranks: []int{0, 2}, Rank: -1}
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"name", pl.Name, "sample"},
		{"ranks, root, rounds", []int{pl.Ranks, pl.Root, pl.Rounds}, []int{4, 1, 1}},
		{"devices", pl.Devices, []int{0, 1, 2, 3}},
		{"kernel", pl.Kernel, "copied"},
		{"orchestration", pl.Orchestration, "copied_plain"},
		{"params", pl.Params(), map[string]string{"mode": "plain", "count": "8"}},
		{"windows", pl.Windows, []Memory{{Signals: 2, Bytes: 288}, {Domain: even, Bytes: 32}}},
		{"x", *pl.Buffers[0], Buffer{Name: "x", DType: numeric.F32, Shape: []int{8}, Window: 0, Offset: 256}},
		{"half", *pl.Buffers[1], Buffer{Name: "half", DType: numeric.F16, Shape: []int{2, 8}, Window: 1, Domain: even, index: 1}},
		{"out", *pl.Buffers[2], Buffer{Name: "out", DType: numeric.I32, Shape: []int{8}, Window: -1, index: 2}},
		{"inputs", pl.Inputs(), pl.Buffers[:1]},
		{"half at", []bool{pl.Buffers[1].On(0), pl.Buffers[1].On(1), pl.Buffers[1].On(2)}, []bool{true, false, true}},
		{"out compared at", []bool{pl.Outputs[0].On(0), pl.Outputs[0].On(1), pl.Outputs[0].On(2)}, []bool{false, true, false}},
		{"half compared at", []bool{pl.Outputs[1].On(0), pl.Outputs[1].On(1), pl.Outputs[1].On(2)}, []bool{true, false, true}},
	} {
		if diff := cmp.Diff(tt.want, tt.got, cmp.AllowUnexported(Buffer{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
}

// TestArgs checks the arguments that the kernel and the orchestration get at a rank in a
// round.
func TestArgs(t *testing.T) {
	pl := plan(t, strings.Replace(sample, "out, count, 0.5", "out, count*rank + round, 0.5", 1), Choice{Rounds: 3})
	ctx := comm.Context{Rank: 2, Ranks: 4}
	got, err := pl.Args(2, 1, ctx)
	want := []any{pl.Buffers[0], pl.Buffers[1], pl.Buffers[2], 17, 0.5, "plain", Domain{Name: "even", Ranks: []int{0, 2}, Rank: 1}, ctx}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Buffer{})); diff != "" || err != nil {
		t.Errorf("arguments (-want +got): %v\n%s", err, diff)
	}
	got, err = pl.TaskArgs(2, 1, ctx)
	want = []any{pl.Buffers[2], pl.Buffers[0], 3, ctx}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Buffer{})); diff != "" || err != nil {
		t.Errorf("arguments of the tasks (-want +got): %v\n%s", err, diff)
	}
}

// TestKernelOrTasks checks which functions a plan has if the scenario has a kernel, tasks
// or both.
func TestKernelOrTasks(t *testing.T) {
	const kernel, tasks = "kernel: {name: samples, args: [x, x, x, x, 1, \"domain:d\"]}\n", "tasks: {name: sample_tasks, args: [x, x, x, x, 1, \"domain:d\"]}\n"
	for _, tt := range []struct {
		calls                 string
		kernel, orchestration string
	}{
		{kernel, "samples", ""},
		{tasks, "", "sample_tasks"},
		{tasks + kernel, "samples", "sample_tasks"},
	} {
		pl := plan(t, "summary: s\nnranks: 1\ndomains: {d: [0]}\nbuffers: [{name: x, dtype: i8, shape: [1], placement: device}]\noutputs: [{buffer: x, golden: 0}]\n"+tt.calls, Choice{})
		if pl.Kernel != tt.kernel || (pl.Func != nil) != (tt.kernel != "") || pl.Orchestration != tt.orchestration || (pl.Tasks != nil) != (tt.orchestration != "") {
			t.Errorf("%sgot kernel %q %T, tasks %q %T, want %q and %q", tt.calls, pl.Kernel, pl.Func, pl.Orchestration, pl.Tasks, tt.kernel, tt.orchestration)
		}
	}
}

// numbers converts the elements of dtype d in b to a list of float64.
func numbers(d numeric.DType, b []byte) (list []float64) {
	for i := range len(b) / d.Size() {
		list = append(list, numeric.Get(d, b, i))
	}
	return list
}

func TestValues(t *testing.T) {
	pl := plan(t, sample, Choice{Rounds: 3, Params: map[string]string{"count": "3"}})
	for _, tt := range []struct {
		what        string
		make        func(rank, round int) ([]byte, error)
		d           numeric.DType
		rank, round int
		want        []float64
	}{
		{"x", func(r, n int) ([]byte, error) { return pl.Input(pl.Buffers[0], r, n) }, numeric.F32, 3, 2, []float64{32, 33, 34}},
		{"golden out", func(r, n int) ([]byte, error) { return pl.Golden(pl.Outputs[0], r, n) }, numeric.I32, 1, 0, []float64{10, 11, 12}},
		{"golden half", func(r, n int) ([]byte, error) { return pl.Golden(pl.Outputs[1], r, n) }, numeric.F16, 2, 0, []float64{1, 2.5, 4, 5.5, 7, 8.5}},
	} {
		b, err := tt.make(tt.rank, tt.round)
		if got := numbers(tt.d, b); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s at rank %d in round %d: got %v, %v, want %v", tt.what, tt.rank, tt.round, got, err, tt.want)
		}
	}
}

// TestConstant checks that an init expression which does not use i, the index of the
// element, gives all elements the same value.
func TestConstant(t *testing.T) {
	for _, count := range []string{"0", "1", "2", "7"} {
		pl := plan(t, strings.Replace(sample, "init: i + 10*rank + round", "init: rank + 0.5", 1), Choice{Params: map[string]string{"count": count}})
		b, err := pl.Input(pl.Buffers[0], 3, 0)
		got := numbers(numeric.F32, b)
		if err != nil || fmt.Sprint(len(got)) != count || slices.ContainsFunc(got, func(v float64) bool { return v != 3.5 }) {
			t.Errorf("count %s: got %v, %v, want only 3.5", count, got, err)
		}
	}
}

// TestPlanChoice checks that planning with the choice that Plan.Choice returns gives a plan
// with the same choice and the same devices.
func TestPlanChoice(t *testing.T) {
	root := 3
	first := plan(t, sample, Choice{Ranks: 5, Root: &root, Rounds: 2, Devices: "0,2,4-6", Params: map[string]string{"count": "5"}})
	again := plan(t, sample, first.Choice())
	if diff := cmp.Diff(first.Choice(), again.Choice()); diff != "" || !slices.Equal(again.Devices, []int{0, 2, 4, 5, 6}) {
		t.Errorf("(-first +again), devices %v:\n%s", again.Devices, diff)
	}
}

// TestRanksOfDevices checks the number of ranks, the device of each rank, and whether ranks
// are bound to cores. They depend on the choice (--devices, --nranks) and on the keys
// devices and ranks of the file. It also checks the errors for devices and ranks that do
// not fit together.
func TestRanksOfDevices(t *testing.T) {
	const own = "domains: {even: [0, 2]}"
	for _, tt := range []struct {
		more   string // added to the file
		choice Choice
		want   []int // the device of each rank
		wrong  string
	}{
		{"", Choice{}, []int{0, 1, 2, 3}, ""},
		{"", Choice{Devices: "0-2"}, []int{0, 1, 2}, ""},
		{"", Choice{Devices: "5,0,2,7,9"}, []int{5, 0, 2, 7, 9}, ""},
		{"", Choice{Ranks: 3}, []int{0, 1, 2}, ""},
		{"", Choice{Ranks: 3, Devices: "6-8"}, []int{6, 7, 8}, ""},
		{"", Choice{Ranks: 5, Devices: "6-8"}, nil, "--devices 6-8: 3 devices, and --nranks is 5: name a device for each rank, or delete --nranks"},
		{"", Choice{Devices: "0"}, nil, "sample.yaml:3:7: root: rank 1 does not exist: with nranks 1 the ranks are 0 to 0"},
		{"", Choice{Devices: "0,x"}, nil, "--devices 0,x: \"x\" names no devices: write numbers and ranges such as 0-3 or 0,2,5"},
		{"ranks: {min: 4, max: 4}\n", Choice{Devices: "0-2"}, nil, "--devices 0-2: nranks is 3, one for each device: the scenario is defined for 4 ranks only"},
		{"ranks: {min: 2, max: 4}\n", Choice{Devices: "0-4"}, nil, "--devices 0-4: nranks is 5, one for each device: the scenario is defined for 2 to 4 ranks"},
		{"ranks: {min: 2, max: 4}\n", Choice{Ranks: 5, Devices: "0-4"}, nil, "--nranks 5: the scenario is defined for 2 to 4 ranks"},
		{"devices: 4-7\n", Choice{}, []int{4, 5, 6, 7}, ""},
		{"devices: 4-7\n", Choice{Devices: "1-3"}, []int{1, 2, 3}, ""},
		{"devices: 4-7\n", Choice{Ranks: 3}, nil, "sample.yaml:6:10: devices: 4 devices for 3 ranks: each rank has one of its own"},
	} {
		s, err := Parse("sample.yaml", []byte(strings.Replace(sample, own, tt.more+own, 1)))
		if err != nil {
			t.Fatal(err)
		}
		pl, err := s.Plan(t.Context(), tt.choice)
		if tt.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.wrong) {
				t.Errorf("%q, %+v: got %v, want %s", tt.more, tt.choice, err, tt.wrong)
			}
			continue
		}
		if err != nil || pl.Ranks != len(tt.want) || !slices.Equal(pl.Devices, tt.want) {
			t.Fatalf("%q, %+v: got %v, %+v, want devices %v", tt.more, tt.choice, err, pl, tt.want)
		}
		if named := tt.choice.Devices != "" || strings.HasPrefix(tt.more, "devices"); pl.Bind != named {
			t.Errorf("%q, %+v: got bind %v, want %v", tt.more, tt.choice, pl.Bind, named)
		}
	}
}

// TestMatrices checks that the signals of signal matrices follow the other signals in the
// window, and that kernels get the matrices as arguments. It also checks that From panics
// for a rank that does not exist, and the error for too many signals.
func TestMatrices(t *testing.T) {
	text := strings.NewReplacer("signals: 2\n", "signals: 2\nsignal_matrices: [sent, taken]\n", "tasks: {name: copied_$mode, args: [out, x, rank + round, deviceCtx]}\n", "",
		`kernel: {name: copied, args: [x, half, out, count, 0.5, mode, "domain:even", deviceCtx]}`, `kernel: {name: notifies_$mode, args: [x, half, out, "matrix:taken", "matrix:sent", count]}`,
		`"domain:even", deviceCtx`, "").Replace(sample)
	for _, ranks := range []int{3, 5, 64} {
		pl := plan(t, text, Choice{Ranks: ranks})
		sent, taken := Matrix{"sent", 2, ranks}, Matrix{"taken", 2 + ranks, ranks}
		w := pl.Windows[0]
		if diff := cmp.Diff([]Matrix{sent, taken}, w.Matrices); diff != "" || w.Signals != 2+2*ranks {
			t.Errorf("%d ranks: %d signals, want %d; matrices (-want +got):\n%s", ranks, w.Signals, 2+2*ranks, diff)
		}
		if want := int64(2 * (2 + 2*ranks) * 64); w.Data() != want || pl.Buffers[0].Offset != want {
			t.Errorf("%d ranks: signals have %d bytes and x begins at %d, want %d", ranks, w.Data(), pl.Buffers[0].Offset, want)
		}
		for rank := range ranks {
			args, err := pl.Args(rank, 0, comm.Context{})
			if err != nil || args[3] != taken || args[4] != sent {
				t.Errorf("rank %d of %d: got %v, %v, want the same matrices at every rank", rank, ranks, args, err)
			}
			if got := taken.From(rank); got != 2+ranks+rank {
				t.Errorf("from rank %d of %d: got signal %d, want %d", rank, ranks, got, 2+ranks+rank)
			}
		}
	}
	for _, rank := range []int{-1, 3} {
		func() {
			want := fmt.Sprintf("matrix sent: no rank %d: it has a signal for each of the ranks 0 to 2", rank)
			defer func() {
				if got := recover(); got != want {
					t.Errorf("from rank %d: got %v, want the panic %s", rank, got, want)
				}
			}()
			Matrix{"sent", 2, 3}.From(rank)
		}()
	}
	many := strings.Replace(text, "signals: 2\n", "signals: 65528\n", 1)
	err := refusal(strings.Replace(many, "nranks: 4", "nranks: 5", 1), Choice{})
	if want := "bad.yaml:6:1: signal_matrices: 10 signals, 5 for each matrix, are too many: at most 65536, with those of signals\n"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	plan(t, many, Choice{}) // 65528 + 2*4 is the maximum
}

// TestTolerance checks that the tolerances of each output are those in the file, and 0 if
// the file has none.
func TestTolerance(t *testing.T) {
	pl := plan(t, strings.Replace(sample, "relative: 1e-3", "relative: 1e-3, absolute: 2.5", 1), Choice{})
	if half := pl.Outputs[1]; half.Relative != 1e-3 || half.Absolute != 2.5 {
		t.Errorf("got relative %v, absolute %v, want 0.001 and 2.5", half.Relative, half.Absolute)
	}
	if out := pl.Outputs[0]; out.Relative != 0 || out.Absolute != 0 {
		t.Errorf("got relative %v, absolute %v where the file has none", out.Relative, out.Absolute)
	}
}

// TestLayout checks that the signals and buffers of a window never overlap and that the
// window has the expected size, for random sizes and offsets.
func TestLayout(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		signals := rapid.IntRange(0, 9).Draw(rt, "signals")
		text := fmt.Sprintf("summary: s\nnranks: 2\nsignals: %d\nbuffers:\n", signals)
		end := SignalBanks * signals * SignalBytes
		for _, name := range []string{"x", "y", "z", "out"} {
			n := rapid.IntRange(0, 100).Draw(rt, name)
			text += fmt.Sprintf("  - {name: %s, dtype: f16, shape: [%d], placement: window", name, n)
			if rapid.Bool().Draw(rt, "explicit") {
				end += 2 * rapid.IntRange(0, 50).Draw(rt, "gap")
				text += fmt.Sprintf(", offset: %d", end)
			} else {
				end = (end + lineBytes - 1) / lineBytes * lineBytes
			}
			end += 2 * n
			text += "}\n"
		}
		text += "kernel: {name: samples, args: [x, y, z, out, 1, \"domain:d\"]}\ndomains: {d: [0]}\noutputs: [{buffer: out, golden: 0}]\n"
		pl := plan(t, text, Choice{})
		before := pl.Windows[0].Data()
		for _, b := range pl.Buffers {
			if b.Offset < before {
				rt.Fatalf("%s is at %d and overlaps bytes before %d:\n%s", b.Name, b.Offset, before, text)
			}
			before = b.Offset + b.Bytes()
		}
		if got := pl.Windows[0].Bytes; got != int64(end) {
			rt.Fatalf("window of %d bytes, want %d:\n%s", got, end, text)
		}
	})
}

func TestLookup(t *testing.T) {
	d := Domain{Name: "even", Ranks: []int{2, 0}}
	if got, err := d.Lookup(0); got != 1 || err != nil {
		t.Errorf("rank 0: got %d, %v, want 1", got, err)
	}
	_, err := d.Lookup(1)
	if want := "rank 1: not a member of the domain even [2 0]"; !errors.Is(err, comm.ErrNotMember) || err.Error() != want {
		t.Errorf("rank 1: got %v, want %s", err, want)
	}
}

func TestParseDevices(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "5, 0,2": {5, 0, 2}, "1-2,0,60-63": {1, 2, 0, 60, 61, 62, 63}} {
		if got, err := ParseDevices(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ",", "1,", "-1", "3-1", "1-", "0x1", "1-2-3", "64", "99999999999", "0,0", "0-2,1"} {
		if got, err := ParseDevices(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestLoad(t *testing.T) {
	defer delete(scenarios, "sample")
	Register("sample", []byte(sample))
	if s, err := Load(t.Context(), "sample"); err != nil || s.Name != "sample" || s.Source != "scenario sample" || s.Summary != "a sample" || s.Ranks != 4 {
		t.Errorf("got %+v, %v", s, err)
	}
	_, err := Load(t.Context(), "sampel")
	if want := "no file sampel and no scenario of that name; scenarios: sample; did you mean sample?"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for want, register := range map[string]func(){
		`scenario: two of kind scenario are called "sample": rename one`:                                       func() { Register("sample", nil) },
		`scenario: "Sample" is no name for a scenario: write lower-case words joined by _, such as all_to_all`: func() { Register("Sample", nil) },
		"scenario: k is a func(int): a kernel is a func(*tl.PE, ...) without results":                          func() { RegisterKernel("k", func(int) {}) },
		"scenario: k is a <nil>: a kernel is a func(*tl.PE, ...) without results":                              func() { RegisterKernel("k", nil) },
		"scenario: k is a func(*tl.PE): an orchestration is a func(*task.Builder, ...) without results":        func() { RegisterTasks("k", func(*tl.PE) {}) },
		`scenario: two of kind orchestration are called "copied_plain": rename one`:                            func() { RegisterTasks("copied_plain", func(*task.Builder) {}) },
		`scenario: two of kind golden are called "halves": rename one`:                                         func() { RegisterGolden("halves", nil) },
		`scenario: two of kind input are called "ones": rename one`:                                            func() { RegisterInput("ones", nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("got panic %s, want %s", got, want)
				}
			}()
			register()
		}()
	}
}
