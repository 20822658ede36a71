package tl_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// watch is a guard that records its calls and refuses one of them.
type watch struct {
	asked  []string
	refuse int // the number of the call to refuse, from 1; 0 for none
}

// ask records a call of the guard. It returns an error if w.refuse is the number of this
// call.
func (w *watch) ask(format string, args ...any) error {
	w.asked = append(w.asked, fmt.Sprintf(format, args...))
	if len(w.asked) == w.refuse {
		return errors.New("not allowed")
	}
	return nil
}

func (w *watch) Access(b *tl.Block, use tl.Use) error {
	return w.ask("%s %d", [...]string{"read", "write", "reach"}[use], b.Ptr.Addr)
}
func (w *watch) Allocated(_, bytes int64) {
	w.asked = append(w.asked, fmt.Sprintf("scratch of %d", bytes))
}
func (w *watch) Peer(rank int) (int, error) { return rank + 40, w.ask("peer %d", rank) }
func (w *watch) Port(p tl.Port) error       { return w.ask("port %v", p) }
func (w *watch) Signal(n int, changes bool) error {
	return w.ask("%s %d", map[bool]string{false: "look at", true: "change"}[changes], n)
}

// TestGuard checks that a guard is asked about every use of memory, ports, peers and
// signals, and that an operation it refuses does not reach the machine. Scratch is the
// exception: the guard is asked after the allocation.
func TestGuard(t *testing.T) {
	at := func(addr int64) tl.Ptr {
		return tl.Ptr{Addr: addr, DType: tl.F32, Rank: 1, Stride: [4]int64{1}, Window: 1}
	}
	n := tl.Shape{4}
	for _, c := range []struct {
		name string
		run  func(t *tl.PE)
		want []string
	}{
		{"Load", func(t *tl.PE) { t.Load(at(64), n, tl.F32) }, []string{"read 64"}},
		{"Store", func(t *tl.PE) { t.Store(at(64), t.Zeros(n, tl.F32)) }, []string{"write 64"}},
		{"Scratch", func(t *tl.PE) { t.Scratch(n, tl.F32) }, []string{"scratch of 16"}},
		{"Composite", func(t *tl.PE) {
			t.Composite(tl.Stream(tl.OpExp, at(128), t.Ref(at(64), n, tl.F32)), tl.Do(tl.OpAdd, t.Ref(at(192), n, tl.F32)))
		}, []string{"read 64", "read 192", "write 128"}},
		{"ReducePeers", func(t *tl.PE) { t.Composite(tl.ReducePeers(tl.OpAdd, at(128), at(64), n, tl.F32, 3, 1)) },
			[]string{"peer 3", "read 64", "peer 1", "reach 64", "write 128"}},
		{"Send of a Ref", func(t *tl.PE) { t.Send(tl.East, t.Ref(at(64), n, tl.F32)) }, []string{"port east", "read 64"}},
		{"Recv", func(t *tl.PE) { t.Recv(tl.West, n, tl.F32) }, []string{"port west"}},
		{"RecvAny", func(t *tl.PE) { t.RecvAny(n, tl.F32) }, []string{"port any"}},
		{"RecvInto", func(t *tl.PE) { t.RecvInto(tl.East, at(64), n, tl.F32) }, []string{"port east", "write 64"}},
		{"Put", func(t *tl.PE) { t.Put(1, at(64), t.Zeros(n, tl.F32)) }, []string{"peer 1", "reach 64"}},
		{"Get", func(t *tl.PE) { t.Get(1, at(64), n, tl.F32) }, []string{"peer 1", "reach 64"}},
		{"Put to the own rank", func(t *tl.PE) { t.Put(3, at(64), t.Zeros(n, tl.F32)) }, []string{"peer 3", "write 64"}},
		{"Get from the own rank", func(t *tl.PE) { t.Get(3, at(64), n, tl.F32) }, []string{"peer 3", "read 64"}},
		{"Notify", func(t *tl.PE) { t.Notify(1, 7, tl.Set, 1) }, []string{"peer 1", "change 7"}},
		{"WaitSignal", func(t *tl.PE) { t.WaitSignal(7, tl.EQ, 1) }, []string{"look at 7"}},
		{"Test", func(t *tl.PE) { t.Test(7, tl.EQ, 1) }, []string{"look at 7"}},
		{"Select", func(t *tl.PE) { t.Select(tl.CanRecv(tl.East), tl.CanSignal(7, tl.EQ, 1)) }, []string{"port east", "look at 7"}},
	} {
		w, r := &watch{}, &recorder{}
		c.run(tl.NewPE(tl.Guarded(r, 3, w), "guarded"))
		if !slices.Equal(w.asked, c.want) {
			t.Errorf("%s asked %q, want %q", c.name, w.asked, c.want)
		}
		calls := len(r.calls)
		if c.name == "Scratch" {
			continue // the guard is called after the allocation and cannot refuse it
		}
		for i := range c.want {
			w, r := &watch{refuse: i + 1}, &recorder{}
			func() {
				defer func() {
					if e, ok := recover().(*tl.Error); !ok || e.Err.Error() != "not allowed" {
						t.Errorf("%s ended with %v, want the refusal of %s", c.name, e, c.want[i])
					}
				}()
				c.run(tl.NewPE(tl.Guarded(r, 3, w), "guarded"))
			}()
			if len(r.calls) >= calls {
				t.Errorf("%s: the machine was asked for %q though %s was refused", c.name, r.calls, c.want[i])
			}
		}
	}
}
