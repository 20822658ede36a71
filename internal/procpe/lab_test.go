package procpe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// array is a tensor that every rank has with the same shape.
type array struct {
	dtype   tl.DType
	shape   tl.Shape
	init    func(rank, i int) float64 // initial value of element i; nil means 0
	private bool                      // in private memory of the rank, not in a window
}

// bytes returns the initial bytes of the array at a rank.
func (a *array) bytes(rank int) []byte {
	n := 1
	for _, d := range a.shape {
		n *= d
	}
	b := make([]byte, n*a.dtype.Size())
	for i := range n {
		if a.init != nil {
			numeric.Set(a.dtype, b, i, a.init(rank, i))
		}
	}
	return b
}

// contents holds the bytes of arrays, by array and rank.
type contents [][][]byte

// setup has the options of a rank, and the number of signals of its kernels.
type setup struct {
	Signals   int // 0 means 64
	TileBytes int64
	Print     io.Writer
	Delay     func()
}

// newRank allocates a window for signals and creates the Rank for this rank of the
// communicator.
func (o setup) newRank(c *comm.Comm) (*Rank, error) {
	w, err := c.AllocWindow(0, Banks*cmp.Or(o.Signals, 64))
	if err != nil {
		return nil, err
	}
	return New(w, Options{o.TileBytes, o.Print, o.Delay}), nil
}

// forEachRank opens the given number of ranks as goroutines, runs f on each of them and
// returns the errors by rank.
func forEachRank(t testing.TB, ranks int, o setup, f func(c *comm.Comm, r *Rank) error) []error {
	t.Helper()
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for rank := range ranks {
		wg.Go(func() {
			errs[rank] = func() error {
				c, err := comm.Open(context.Background(), rank, ranks, t.Name(), comm.Options{Backend: inproc.Name})
				if err != nil {
					return err
				}
				r, err := o.newRank(c)
				if err == nil {
					err = f(c, r)
				}
				if err != nil {
					c.Abort(err)
					return err
				}
				return errors.Join(c.Barrier(), c.Close())
			}()
		})
	}
	wg.Wait()
	return errs
}

// tensor allocates the memory of the array at this rank and returns it as a tensor with the
// initial values.
func (a *array) tensor(c *comm.Comm) (Tensor, error) {
	x := Tensor{Name: "x", DType: a.dtype, Shape: a.shape}
	init := a.bytes(c.Rank())
	if a.private {
		x.Memory = init
		return x, nil
	}
	const before = 16 // unused bytes at the start of the window
	w, err := c.AllocWindow(before+int64(len(init)), 0)
	if err != nil {
		return x, err
	}
	x.Window, x.Offset = w, before
	copy(w.Local()[before:], init)
	return x, nil
}

// runOnRanks launches a kernel the given number of times on ranks that are goroutines. It
// returns the contents of the arrays among args after the last launch.
func runOnRanks(t testing.TB, ranks, times int, o setup, kernel any, args ...any) contents {
	t.Helper()
	_, arrays, err := tl.Bind[*array]("k", kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	got := make(contents, len(arrays))
	for i := range got {
		got[i] = make([][]byte, ranks)
	}
	errs := forEachRank(t, ranks, o, func(c *comm.Comm, r *Rank) error {
		list := append([]any(nil), args...)
		var tensors []Tensor
		for i, a := range args {
			if a, ok := a.(*array); ok {
				x, err := a.tensor(c)
				if err != nil {
					return err
				}
				list[i], tensors = x, append(tensors, x)
			}
		}
		for range times {
			if err := r.Launch("k", kernel, list...); err != nil {
				return err
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		for i, x := range tensors {
			memory, _, err := x.memory()
			if err != nil {
				return err
			}
			got[i][c.Rank()] = bytes.Clone(memory)
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

var graph = sync.OnceValue(func() *topology.Graph {
	spec, err := topology.Load(context.Background(), "default")
	if err != nil {
		panic(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		panic(err)
	}
	return g
})

// runSimulated launches a kernel the given number of times on PEs of the simulated machine.
// It returns the contents of the arrays among args after the last launch.
func runSimulated(t testing.TB, ranks, times int, kernel any, args ...any) contents {
	t.Helper()
	bound, arrays, err := tl.Bind[*array]("k", kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	m := machine.New(graph(), machine.Options{Log: true})
	defer m.Close()
	data := exec.New(m.Log, func(s oplog.Space) *memory.Store { return &m.Memory(s).Store }, 1)
	m.Data = data
	p := machine.Program{Name: "k"}
	for rank := range ranks {
		p.Targets = append(p.Targets, machine.PEID(rank))
	}
	got := make(contents, len(arrays))
	ptrs := make([][]tl.Ptr, ranks)
	addrs := make([][]memory.Addr, len(arrays))
	for i, a := range arrays {
		parts := make([]memory.Part, ranks)
		for rank := range ranks {
			id := m.PE(machine.PEID(rank)).Memory(topology.KindHBM)
			init := a.bytes(rank)
			addr, err := m.Memory(id).Allocator.Alloc(memory.Bytes(len(init)), 256)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Memory(id).Store.Write(addr, init); err != nil {
				t.Fatal(err)
			}
			va, err := m.Space.Map("x", []memory.Segment{{Memory: id, Addr: addr, Bytes: memory.Bytes(len(init))}})
			if err != nil {
				t.Fatal(err)
			}
			_, ptr, err := (&Tensor{DType: a.dtype, Shape: a.shape, Memory: init}).memory()
			if err != nil {
				t.Fatal(err)
			}
			ptr.Addr, ptr.Window = int64(va), int16(i+1)
			ptrs[rank] = append(ptrs[rank], ptr)
			parts[rank] = memory.Part{VA: va, Bytes: memory.Bytes(len(init))}
			addrs[i], got[i] = append(addrs[i], addr), append(got[i], init)
		}
		p.Windows = append(p.Windows, parts)
	}
	p.Body = func(pe *tl.PE) { bound.Call(pe, ptrs[pe.Rank()]...) }
	for range times {
		if _, err := m.Start(p, sim.Event{}); err != nil {
			t.Fatal(err)
		}
		if err := m.Engine.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := data.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range arrays {
		for rank := range ranks {
			id := m.PE(machine.PEID(rank)).Memory(topology.KindHBM)
			if err := m.Memory(id).Store.Read(addrs[i][rank], got[i][rank]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return got
}

// checkSame runs a kernel on ranks and on the simulated machine. It checks that all arrays
// have the same bits afterwards, and returns their contents.
func checkSame(t testing.TB, ranks, times int, o setup, kernel any, args ...any) contents {
	t.Helper()
	want := runSimulated(t, ranks, times, kernel, args...)
	got := runOnRanks(t, ranks, times, o, kernel, args...)
	for i := range want {
		for rank := range ranks {
			if !bytes.Equal(got[i][rank], want[i][rank]) {
				t.Errorf("array %d of rank %d is %x, on the simulated machine %x", i, rank, got[i][rank], want[i][rank])
			}
		}
	}
	return got
}
