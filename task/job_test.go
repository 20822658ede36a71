package task

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// job is the programs of several ranks and the arrays that they use. It runs on the
// simulated machine and on real ranks.
type job struct {
	ranks     int
	arrays    []array
	submit    func(b *Builder, x []*Tensor)
	submitAll func(b *Builder, x [][]*Tensor) // if set, replaces submit: one orchestration of all ranks, with their tensors by rank and array
}

// array is an i32 tensor of which every rank has a part of the same shape.
type array struct {
	shape tl.Shape
	init  func(rank, i int) int32 // nil for zeros
}

// elems returns the number of elements of one rank's part.
func (a *array) elems() int {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	return n
}

// part returns the initial elements of a rank's part.
func (a *array) part(rank int) []int32 {
	part := make([]int32, a.elems())
	for i := range part {
		if a.init != nil {
			part[i] = a.init(rank, i)
		}
	}
	return part
}

// contents is the values of arrays, by array, rank and element.
type contents [][][]int32

// initialContents returns the values of the arrays before the job runs.
func (j *job) initialContents() contents {
	all := make(contents, len(j.arrays))
	for i := range j.arrays {
		for rank := range j.ranks {
			all[i] = append(all[i], j.arrays[i].part(rank))
		}
	}
	return all
}

// checkEqual fails the test unless all values of `got` equal those of `want`. `what`
// describes the run in the message.
func (got contents) checkEqual(t tester, what string, want contents) {
	t.Helper()
	for i := range want {
		for rank := range want[i] {
			if !slices.Equal(got[i][rank], want[i][rank]) {
				t.Errorf("%s: array %d of rank %d is\n     %v\nwant %v", what, i, rank, got[i][rank], want[i][rank])
				return
			}
		}
	}
}

// sips returns a system of n SIPs with one cube each. It compiles each system once.
var sips = func() func(n int) *topology.Graph {
	var mu sync.Mutex
	made := map[int]*topology.Graph{}
	return func(n int) *topology.Graph {
		mu.Lock()
		defer mu.Unlock()
		if made[n] == nil {
			spec, err := topology.Load(context.Background(), "ring6", fmt.Sprint("system.sips.count=", n), "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
			if err != nil {
				panic(err)
			}
			if made[n], err = topology.Compile(spec); err != nil {
				panic(err)
			}
		}
		return made[n]
	}
}()

// outcome is the result of a simulated job.
type outcome struct {
	contents
	*Result
	options  Options
	programs []*Program
	log      *oplog.Log
	races    []string
}

// runSimulated runs the job on the simulated machine. It checks everything that must hold
// for a run (see outcome.check).
func (j *job) runSimulated(t tester, o Options, machine torch.Options) (*outcome, error) {
	t.Helper()
	machine.Topology = sips(j.ranks)
	c, err := torch.New(context.Background(), machine)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	var pes []int
	for rank := range j.ranks {
		pes = append(pes, r.PE(rank, 0, 0))
	}
	var tensors []*torch.Tensor
	for i := range j.arrays {
		a := &j.arrays[i]
		shape := slices.Clone(a.shape)
		shape[0] *= j.ranks
		var all []int32
		for rank := range j.ranks {
			all = append(all, a.part(rank)...)
		}
		x, err := r.FromSlice(all, torch.I32, shape, torch.On(pes...))
		if err != nil {
			t.Fatal(err)
		}
		tensors = append(tensors, x)
	}
	o.Single = j.submitAll != nil
	out := &outcome{options: o, programs: make([]*Program, j.ranks)}
	if r.KeepsLog() {
		out.log = r.Log()
	}
	out.Result, err = Run(r, o, func(b *Builder) {
		if j.submitAll != nil {
			out.programs = b.programs
			x := make([][]*Tensor, j.ranks)
			for rank := range x {
				for _, of := range tensors {
					x[rank] = append(x[rank], b.TensorOn(rank, of))
				}
			}
			j.submitAll(b, x)
			return
		}
		out.programs[b.Rank()] = b.program
		var x []*Tensor
		for _, of := range tensors {
			x = append(x, b.Tensor(of))
		}
		j.submit(b, x)
	})
	if err != nil {
		return out, err
	}
	if machine.Race {
		if out.races, err = r.Races(); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range tensors {
		if machine.NoData {
			break
		}
		all, err := x.Numpy()
		if err != nil {
			t.Fatal(err)
		}
		out.contents = append(out.contents, nil)
		each := len(all.Bytes) / j.ranks
		for rank := range j.ranks {
			out.contents[i] = append(out.contents[i], int32s(all.Bytes[rank*each:][:each]))
		}
	}
	out.check(t)
	return out, nil
}

// mustRunSimulated runs the job on the simulated machine, as runSimulated does, and returns
// the outcome. If the job returns an error, the test fails.
func (j *job) mustRunSimulated(t tester, o Options, machine torch.Options) *outcome {
	t.Helper()
	out, err := j.runSimulated(t, o, machine)
	if err != nil {
		t.Fatalf("%s: %v", o.Runtime, err)
	}
	return out
}

// runReal runs the job on real ranks that are goroutines. It returns the values of the
// arrays after the run, and the error of each rank.
func (j *job) runReal(o Options) (contents, []error) { return j.runRealOn(inproc.Name, o) }

// runRealOn runs the job on real ranks of the given backend. It returns the values of the
// arrays after the run, and the error of each rank.
func (j *job) runRealOn(backend string, o Options) (contents, []error) {
	got := make(contents, len(j.arrays))
	for i := range got {
		got[i] = make([][]int32, j.ranks)
	}
	errs := commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, j.ranks, func(c *comm.Comm) error {
		err := j.runRank(c, o, got)
		if err != nil {
			c.Abort(err) // returns the same error
			return err
		}
		return c.Barrier()
	})
	return got, errs
}

// maxSignals is the number of signals of a kernel if Options.Signals is 0.
const maxSignals = 64

// runRank runs the job as one real rank, and stores the values of the rank's arrays in
// `got`.
func (j *job) runRank(c *comm.Comm, o Options, got contents) error {
	signals, err := c.AllocWindow(0, procpe.Banks*cmp.Or(o.Signals, maxSignals))
	if err != nil {
		return err
	}
	r := procpe.New(signals, procpe.Options{})
	var tensors []procpe.Tensor
	for i := range j.arrays {
		a := &j.arrays[i]
		w, err := c.AllocWindow(int64(a.elems())*4, 0)
		if err != nil {
			return err
		}
		if _, err := binary.Encode(w.Local(), binary.LittleEndian, a.part(c.Rank())); err != nil {
			return err
		}
		tensors = append(tensors, procpe.Tensor{Name: fmt.Sprint("tensor", i), DType: tl.I32, Shape: a.shape, Window: w})
	}
	declared := func(i int) Tensor {
		return Tensor{Name: tensors[i].Name, DType: tl.I32, Shape: tensors[i].Shape, Window: true, Source: i}
	}
	var p *Program
	if j.submitAll != nil {
		programs, err := BuildAll(context.Background(), c.Size(), func(b *Builder) {
			x := make([][]*Tensor, j.ranks)
			for rank := range x {
				for i := range tensors {
					x[rank] = append(x[rank], b.DeclareOn(rank, declared(i)))
				}
			}
			j.submitAll(b, x)
		})
		if err != nil {
			return err
		}
		p = programs[c.Rank()]
	} else if p, err = Build(context.Background(), c.Rank(), c.Size(), func(b *Builder) {
		var x []*Tensor
		for i := range tensors {
			x = append(x, b.Declare(declared(i)))
		}
		j.submit(b, x)
	}); err != nil {
		return err
	}
	if err := runOn(r, p, o, func(x any) procpe.Tensor { return tensors[x.(*Tensor).number] }, func() {}); err != nil {
		return err
	}
	if err := c.Barrier(); err != nil {
		return err
	}
	for i := range tensors {
		got[i][c.Rank()] = int32s(tensors[i].Window.Local())
	}
	return nil
}

func int32s(b []byte) []int32 {
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}
