package dist_test

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestAllWorkersThatFailAreNamed checks that the error of Spawn contains all workers that
// fail at the same instant, each with its own error, for different kinds of failures. The
// error must not contain workers that wait or that fail later.
func TestAllWorkersThatFailAreNamed(t *testing.T) {
	errs := make([]error, 7)
	for rank := range errs {
		errs[rank] = fmt.Errorf("failure of rank %d", rank)
	}
	same := []error{errors.New("no data"), errors.New("no data"), errors.New("no data")}
	barrier := func(r *torch.Rank) { torch.OK(torch.Must(dist.BarrierAsync(r)).Wait()) }
	bad := func(t *tl.PE, x tl.Ptr) { t.Load(x, tl.Shape{99}, tl.F32) }
	for _, c := range []struct {
		name  string
		n     int
		do    worker
		ranks []int
		want  string  // the whole error; LINE stands for a line of this file
		is    []error // errors that errors.Is must find
	}{
		{"errors", 5, func(r *torch.Rank) error {
			if r.Rank()%2 == 1 {
				return errs[r.Rank()]
			}
			return dist.Barrier(r)
		}, []int{1, 3}, "rank 1: failure of rank 1\nrank 3: failure of rank 3", []error{errs[1], errs[3]}},
		{"panics", 7, func(r *torch.Rank) error {
			panic(fmt.Sprint("odd: ", r.Rank()%2))
		}, lists.Count(0, 7), "ranks 0, 2, 4, 6: panic at LINE: odd: 0\nranks 1, 3, 5: panic at LINE: odd: 1", nil},
		{"an error, a panic, Must and misuse", 5, func(r *torch.Rank) error {
			switch r.Rank() {
			case 0:
				return errs[0]
			case 2:
				panic("out of ideas")
			case 3:
				r.SetDevice(9)
			case 4:
				torch.OK(errs[4])
			}
			return r.Synchronize()
		}, []int{0, 2, 3, 4}, "rank 0: failure of rank 0\nrank 2: panic at LINE: out of ideas\nrank 3: at LINE: torch: SetDevice: no SIP 9: the system has 0 to 4\nrank 4: failure of rank 4",
			[]error{errs[0], errs[4]}},
		{"the same text", 3, func(r *torch.Rank) error {
			return same[r.Rank()]
		}, lists.Count(0, 3), "ranks 0-2: no data", same},
		{"at one later instant", 5, func(r *torch.Rank) error {
			barrier(r)
			if r.Rank()%3 == 1 {
				return errs[r.Rank()]
			}
			barrier(r)
			return errs[0]
		}, []int{1, 4}, "rank 1: failure of rank 1\nrank 4: failure of rank 4", []error{errs[1], errs[4]}},
		{"one later than another", 3, func(r *torch.Rank) error {
			if r.Rank() == 2 {
				torch.OK(r.Synchronize())
				return errs[2]
			}
			torch.Must(hostedtest.Full(r, 1, 1).Numpy())
			return errs[r.Rank()]
		}, []int{2}, "rank 2: failure of rank 2", []error{errs[2]}},
		{"one whose calls come after another's failure", 5, func(r *torch.Rank) error {
			rank := r.Rank()
			if rank == 0 {
				return errs[0]
			}
			x := hostedtest.Full(r, rank, 5)
			torch.Must(r.Launch("bad", bad, x)) // the launch never begins
			torch.OK(dist.AllReduce(r, x, dist.SUM))
			torch.OK(dist.Send(r, x, (rank+1)%5, 0))
			torch.OK(x.Free())
			if rank == 3 {
				return errs[3]
			}
			return torch.Must(dist.BarrierAsync(r)).Wait()
		}, []int{0, 3}, "rank 0: failure of rank 0\nrank 3: failure of rank 3", []error{errs[0], errs[3]}},
		{"a kernel and a worker", 3, func(r *torch.Rank) error {
			if r.Rank() == 0 {
				torch.Must(r.Launch("bad", bad, torch.Must(r.Zeros(torch.F32, torch.Shape{5}))))
			}
			if r.Rank() == 2 {
				return errs[2]
			}
			return r.Synchronize()
		}, []int{0, 2}, "rank 0: launch bad: kernel bad on sip0.cube0.pe0: Load([99] f32) at LINE: elements 0 to 98 are not all in this PE's shard [0:5] of tensor 1 [5] f32, which has 5: move the pointer, or mask what lies beyond; Ptr.Whole points to the whole tensor\nrank 2: failure of rank 2", []error{errs[2]}},
		{"kernels", 5, func(r *torch.Rank) error {
			rank := r.Rank()
			x := torch.Must(r.Zeros(torch.F32, torch.Shape{6}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}))
			torch.Must(r.Launch("bad", func(t *tl.PE, x tl.Ptr) {
				if rank%2 == 0 && t.Rank() == rank/4 {
					panic(fmt.Sprint("rank ", rank))
				}
			}, x))
			return dist.AllReduce(r, x, dist.SUM)
		}, []int{0, 2, 4}, "rank 0: launch bad: kernel bad on sip0.cube0.pe0: panic at LINE: rank 0\nrank 2: launch bad: kernel bad on sip2.cube0.pe0: panic at LINE: rank 2\n" +
			"rank 4: launch bad: kernel bad on sip4.cube0.pe1: panic at LINE: rank 4", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := hostedtest.Spawn(t, c.n, c.do)
			hostedtest.Blames(t, err, c.ranks)
			if got := testLine.ReplaceAllString(err.Error(), "LINE"); got != c.want {
				t.Errorf("error:\ngot  %s\nwant %s", got, c.want)
			}
			for _, want := range c.is {
				if !errors.Is(err, want) {
					t.Errorf("errors.Is does not find %q", want)
				}
			}
			if l.Err() != nil {
				return // the failure of a kernel ends the machine
			}
			torch.OK(l.Spawn(func(r *torch.Rank) error {
				return r.Check("x", hostedtest.Full(r, 7, 3), hostedtest.Fill(7, 3))
			}, c.n))
			if !l.Checks().OK() || len(l.Checks()) != c.n {
				t.Errorf("checks after it %+v", l.Checks())
			}
		})
	}
}

// TestErrorsOfEachRankByType checks that errors.As finds the error of a rank by its type,
// even if the error of another rank has the same text.
func TestErrorsOfEachRankByType(t *testing.T) {
	_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		if r.Rank() == 2 {
			return &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
		}
		return errors.New("open x: file does not exist")
	})
	hostedtest.Says(t, "error", err, "ranks 0-2: open x: file does not exist")
	var path *fs.PathError
	if !errors.As(err, &path) || !errors.Is(err, fs.ErrNotExist) {
		t.Error("errors.As and errors.Is do not find the error of rank 2")
	}
}

// testLine matches the name and line number of a test file in an error.
var testLine = regexp.MustCompile(`\w+_test\.go:\d+`)
