package task

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestMistakesOfOrchestrations checks the error of Build for each mistake in an
// orchestration. The error must have the line and the reason.
func TestMistakesOfOrchestrations(t *testing.T) {
	nothing := func(t *tl.PE) {}
	other := &Tensor{Name: "other", DType: tl.I32, Shape: tl.Shape{4}}
	for _, c := range []struct {
		name   string
		submit func(b *Builder, x *Tensor)
		want   string
	}{
		{"no name", func(b *Builder, x *Tensor) { b.Submit("", nothing, nil) }, "Submit at L: task 0 (): it has no name"},
		{"a group of none", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(0)) }, "Submit at L: task 0 (a): a group of 0: a task runs on one PE or more"},
		{"no neighbour table", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(2, torch.Line, nil)) },
			"Submit at L: task 0 (a): a nil neighbour table: give Group a function such as torch.Ring"},
		{"a neighbour of nobody", func(b *Builder, x *Tensor) {
			b.Submit("a", nothing, nil, Group(3, func(m ...int) []torch.Connection { return torch.Line(len(m)-1, len(m)) }))
		}, "Submit at L: task 0 (a): the neighbour table names member 3, and the group has members 0 to 2"},
		{"a neighbour of less than nobody", func(b *Builder, x *Tensor) {
			b.Submit("a", nothing, nil, Group(3, func(...int) []torch.Connection { return torch.Line(1<<32, -1) }))
		}, "Submit at L: task 0 (a): the neighbour table names member 4294967296, and the group has members 0 to 2"},
		{"a port twice", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(3, torch.Line, torch.Ring)) },
			"Submit at L: task 0 (a): the neighbour table gives member 0 the port east twice"},
		{"a port of any name", func(b *Builder, x *Tensor) {
			b.Submit("a", nothing, nil, Group(2, func(...int) []torch.Connection { return []torch.Connection{{B: 1, BPort: tl.AnyPort}} }))
		}, "Submit at L: task 0 (a): the neighbour table gives member 1 the port any, which is none"},
		{"a ring of too many", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(1<<40, torch.Ring)) },
			"Submit at L: task 0 (a): a group of 1099511627776 with a neighbour table: at most 65536 members can have one"},
		{"slots in no memory", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(2, torch.Line), Buffers("l2")) },
			`Submit at L: task 0 (a): no memory "l2" for slots of queues: use one of [tcm sram hbm]`},
		{"slots of no queues", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, Group(2), Buffers(topology.BufferHBM)) },
			"Submit at L: task 0 (a): slots in hbm, and no queues: give its group a neighbour table, or leave Buffers out"},
		{"after itself", func(b *Builder, x *Tensor) {
			b.Submit("a", nothing, nil)
			b.Submit("b", nothing, nil, After(0, 1))
		}, "Submit at L: task 1 (b): it is to be after task 1, and there are 1 tasks so far, counted from 0"},
		{"after nobody", func(b *Builder, x *Tensor) { b.Submit("a", nothing, nil, After(-1)) }, "Submit at L: task 0 (a): it is to be after task -1, and there are 0 tasks so far, counted from 0"},
		{"a tensor of another rank", func(b *Builder, x *Tensor) {
			b.Submit("a", affine, Args{InOut("x", other), Scalar("c", 1)})
		}, "Submit at L: task 0 (a): argument x is a region of other [4] i32, which is no tensor of this program"},
		{"a box behind the end", func(b *Builder, x *Tensor) { x.Box([]int{2, 3}, []int{2, 4}) }, "Box at L: 4 elements from 3 on are not all in axis 1 of x [4 6] i32"},
		{"a box before the beginning", func(b *Builder, x *Tensor) { x.Rows(-1, 1) }, "Box at L: 1 elements from -1 on are not all in axis 0 of x [4 6] i32"},
		{"a box of less than nothing", func(b *Builder, x *Tensor) { x.Rows(2, -1) }, "Box at L: -1 elements from 2 on are not all in axis 0 of x [4 6] i32"},
		{"too many axes", func(b *Builder, x *Tensor) { x.Box([]int{0, 0, 0}, []int{1, 1, 1}) }, "Box at L: 3 indices and 3 extents for x [4 6] i32: write one of each for some of its 2 axes, from the first"},
		{"no tensor", func(b *Builder, x *Tensor) { (*Tensor)(nil).Rows(0, 1) }, "Box at L: a nil tensor"},
		{"a torch tensor elsewhere", func(b *Builder, x *Tensor) { b.Tensor(nil) }, "Tensor at L: the program is not for a torch.Context: use the tensors that the orchestration was given"},
		{"a long axis", func(b *Builder, x *Tensor) {
			b.Declare(Tensor{Name: "y", DType: tl.I8, Shape: tl.Shape{1 << 31}})
		}, "Declare at L: y [2147483648] i8: a tensor has a dtype and up to 4 axes, each of 0 to 2147483647 elements"},
		{"the same memory twice", func(b *Builder, x *Tensor) {
			b.Declare(Tensor{Name: "y", DType: tl.I8, Shape: tl.Shape{4}, Source: 1})
			b.Declare(Tensor{Name: "z", DType: tl.I8, Shape: tl.Shape{4}, Source: 1})
		}, "Declare at L: z [4] i8 is of the same memory as y [4] i8, which is declared already: use that one, or conflicts would not be seen"},
		{"five axes", func(b *Builder, x *Tensor) {
			b.Declare(Tensor{Name: "y", DType: tl.I32, Shape: tl.Shape{1, 1, 1, 1, 1}})
		}, "Declare at L: y [1 1 1 1 1] i32: a tensor has a dtype and up to 4 axes, each of 0 to 2147483647 elements"},
	} {
		_, err := Build(t.Context(), 1, 2, func(b *Builder) {
			c.submit(b, b.Declare(Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{4, 6}}))
		})
		got, want := mistakeLines.ReplaceAllString(fmt.Sprint(err), " at L"), "the orchestration of rank 1: "+c.want
		if got != want {
			t.Errorf("%s: got\n     %s\nwant %s", c.name, got, want)
		}
	}
}

// mistakeLines matches file and line of the orchestrations in this file, as errors contain
// them.
var mistakeLines = regexp.MustCompile(` at mistakes_test\.go:\d+`)

// TestArgumentsThatDoNotFit checks that a kernel whose parameters do not match its
// arguments is refused.
func TestArgumentsThatDoNotFit(t *testing.T) {
	for _, args := range []Args{nil, {Scalar("c", 1)}, {InOut("x", &Tensor{Name: "x", DType: tl.I32})}, {Scalar("x", 1), Scalar("c", 1)}} {
		if _, err := args.bind("affine", affine); err == nil {
			t.Errorf("affine takes %v: no error, want that it has a pointer and an int", args)
		}
	}
}

// TestMistakesOfOptions checks that Run reports wrong options before it builds anything.
func TestMistakesOfOptions(t *testing.T) {
	r := newSystem(t, "default", torch.Options{}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, `no runtime "": write one of host_build_graph, aicpu_build_graph, tensormap_and_ringbuffer`},
		{Options{Runtime: "eager"}, `no runtime "eager": write one of host_build_graph, aicpu_build_graph, tensormap_and_ringbuffer`},
		{Options{Runtime: HostBuildGraph, Devices: []int{0, 0}}, "devices [0 0]: each rank has a SIP of its own, from 0 to 1"},
		{Options{Runtime: HostBuildGraph, Devices: []int{2}}, "devices [2]: each rank has a SIP of its own, from 0 to 1"},
		{Options{Runtime: HostBuildGraph, Config: loadConfig(t, "control.compute_cores=9")}, "tasks.control.compute_cores is 9, and a SIP has 8 PEs: write 1 to 8, or 0 for all"},
	} {
		_, err := Run(r, c.o, func(b *Builder) { t.Error("an orchestration was called") })
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%+v: got\n     %s\nwant %s", c.o, got, c.want)
		}
	}
	if _, err := Run(r, Options{Runtime: HostBuildGraph}, func(b *Builder) { b.Submit("", nil, nil) }); err == nil {
		t.Error("an orchestration with a mistake ran")
	}
}

// TestNoTasks checks that ranks without tasks end at once.
func TestNoTasks(t *testing.T) {
	j := &job{ranks: 2, submit: func(b *Builder, _ []*Tensor) { b.Scope("nothing", func() {}) }}
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: Default()}
		out := j.mustRunSimulated(t, o, torch.Options{KeepLog: true})
		if out.Makespan != 0 || out.Tasks != 0 || len(out.Control) != 0 {
			t.Errorf("%s: a makespan of %v, %d tasks, and control cores did %v; want nothing", r, out.Makespan, out.Tasks, out.Control)
		}
		if _, errs := j.runReal(o); errs[0] != nil || errs[1] != nil {
			t.Errorf("%s: real ranks: %v", r, errs)
		}
	}
}
