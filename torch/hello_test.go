package torch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// helloSend sends the tile of its PE to the east neighbour of the PE, and stores the tile
// that arrives from the west neighbour.
func helloSend(t *tl.PE, x tl.Ptr, n int) {
	tile := t.Load(x, tl.Shape{n}, tl.F16)
	t.Send(tl.East, tile)
	t.Store(x, t.Recv(tl.West, tl.Shape{n}, tl.F16))
}

// TestHelloSend checks the values after helloSend on a ring of four PEs, and logs its
// times.
func TestHelloSend(t *testing.T) {
	c, err := torch.New(context.Background(), torch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	pes := []int{0, 1, 2, 3}
	x, err := r.FromSlice([]int{0, 1, 2, 3, 4, 5, 6, 7}, torch.F16, torch.Shape{8}, torch.On(pes...))
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Launch("hello_send", helloSend, x, 2, torch.Neighbors(torch.Ring(pes...)))
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.Numpy()
	if err != nil {
		t.Fatal(err)
	}
	if i := a.Wrong([]int{6, 7, 0, 1, 2, 3, 4, 5}); i >= 0 {
		t.Errorf("%v: element %d is wrong", a.Float64s(), i)
	}
	t.Log(l.Crit(), l.Exec())
}

// TestAllPairs checks that, in the connections of AllPairs, port number i of each PE leads
// to the i-th PE of the list.
func TestAllPairs(t *testing.T) {
	got := torch.AllPairs(40, 7, 9)
	want := []torch.Connection{
		{A: 40, APort: tl.Numbered(1), B: 7, BPort: tl.Numbered(0)},
		{A: 40, APort: tl.Numbered(2), B: 9, BPort: tl.Numbered(0)},
		{A: 7, APort: tl.Numbered(2), B: 9, BPort: tl.Numbered(1)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := torch.AllPairs(5); len(got) != 0 {
		t.Errorf("one PE has %v, want no connections", got)
	}
}
