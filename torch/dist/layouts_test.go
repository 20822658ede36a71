package dist_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestLayoutsThatDoNotFit checks that a collective on tensors with different layouts either
// gives the right values or returns an error.
func TestLayoutsThatDoNotFit(t *testing.T) {
	columns := torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}
	rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}
	square := torch.Shape{4, 4}
	for _, c := range []struct {
		name string
		own  [2]torch.Placement // the placement of each rank
		do   func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error)
		want []int // the values if there is no error
	}{
		{"grids of another order", [2]torch.Placement{
			torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumCubes: 2, NumPEs: 2},
			torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.RowWise, NumCubes: 2, NumPEs: 2},
		}, func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
			return x, dist.Broadcast(r, x, 0)
		}, lists.Count(0, 16)},
		{"copies of parts, parts of copies", [2]torch.Placement{
			torch.DPPolicy{Cube: torch.Replicate, PE: torch.RowWise, NumCubes: 2, NumPEs: 2},
			torch.DPPolicy{Cube: torch.RowWise, PE: torch.Replicate, NumCubes: 2, NumPEs: 2},
		}, func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
			return x, dist.Broadcast(r, x, 0)
		}, lists.Count(0, 16)},
		{"rows into columns, of lists", [2]torch.Placement{rows, rows}, func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
			a, err := r.Zeros(torch.I32, square, columns)
			b, berr := r.Zeros(torch.I32, square, columns)
			return a, errors.Join(err, berr, dist.AllGather(r, []*torch.Tensor{a, b}, x))
		}, lists.Count(0, 16)},
		{"rows into columns, of one tensor", [2]torch.Placement{rows, rows}, func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
			y, err := r.Zeros(torch.I32, torch.Shape{8, 4}, columns)
			return y, errors.Join(err, dist.AllGatherIntoTensor(r, y, x))
		}, append(lists.Count(0, 16), lists.Count(0, 16)...)},
		{"columns of another shape", [2]torch.Placement{columns, columns}, func(r *torch.Rank, x *torch.Tensor) (*torch.Tensor, error) {
			y, err := r.Zeros(torch.I32, torch.Shape{16, 2}, columns)
			return y, errors.Join(err, dist.AllGatherIntoTensor(r, y, x))
		}, append(lists.Count(0, 16), lists.Count(0, 16)...)},
	} {
		l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
			x, err := r.FromSlice(lists.Count(0, 16), torch.I32, square, c.own[r.Rank()])
			if err != nil {
				return err
			}
			y, err := c.do(r, x)
			return errors.Join(err, r.Check(c.name, y, c.want))
		})
		if err == nil && !l.Checks().OK() { // an error is allowed
			t.Errorf("%s: checks %+v", c.name, l.Checks())
		}
	}
}

// TestListsOnOtherPEs checks an all-gather whose tensors are on different PEs of a rank.
func TestListsOnOtherPEs(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x, err := r.FromSlice(lists.Count(10*rank, 3+rank), torch.I32, torch.Shape{3 + rank})
		if err != nil {
			return err
		}
		var list []*torch.Tensor
		for i := range 2 {
			y, err := r.Zeros(torch.I32, torch.Shape{3 + i}, torch.On(r.PE(rank, 0, 1+i)))
			if err != nil {
				return err
			}
			list = append(list, y)
		}
		return errors.Join(dist.AllGather(r, list, x), r.Check("of rank 0", list[0], lists.Count(0, 3)), r.Check("of rank 1", list[1], lists.Count(10, 4)))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestRanksOnOtherDevices checks collectives of ranks that have chosen another device with
// SetDevice.
func TestRanksOnOtherDevices(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "ring6")})
	for _, c := range []struct {
		devices [2]int
		want    string
	}{
		{[2]int{3, 5}, ""},
		{[2]int{1, 0}, ""},
		{[2]int{4, 4}, "all_reduce 1 of the default group: two ranks are on sip4.cube0.pe0: give each a device of its own with SetDevice"},
	} {
		err := l.Spawn(func(r *torch.Rank) error {
			rank := r.Rank()
			r.SetDevice(c.devices[rank])
			err := dist.InitProcessGroup(r, "ahbm")
			x := hostedtest.Full(r, rank+1, 3)
			if got := x.Shards()[0].SIP; got != c.devices[rank] {
				t.Errorf("rank %d is on SIP %d, want %d", rank, got, c.devices[rank])
			}
			return errors.Join(err, dist.AllReduce(r, x, dist.SUM), dist.Barrier(r), r.Check("x", x, hostedtest.Fill(3, 3)))
		}, 2)
		if c.want == "" && (err != nil || !l.Checks().OK()) {
			t.Errorf("devices %v: error %v, checks %+v", c.devices, err, l.Checks())
		} else if c.want != "" {
			hostedtest.Says(t, fmt.Sprint("devices ", c.devices), err, "ranks 0, 1: "+c.want)
		}
	}
}
