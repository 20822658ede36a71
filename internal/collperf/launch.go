package collperf

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// CPUs returns the CPUs that real ranks are bound to, as in MPI: one for each rank, or nil
// if there are more ranks than CPUs.
func (o *Options) CPUs() []int {
	list := host.CPUs()
	if len(list) < o.NRanks {
		return nil
	}
	return list[:o.NRanks]
}

// launch runs the job with the given name on real ranks. The job measures all rows, and
// launch adds the rows to t. The launcher collects the results of the ranks. The ranks do
// not use the collectives for this purpose, because the collectives may be wrong.
func (o *Options) launch(ctx context.Context, job string, t *tally) error {
	arg, err := json.Marshal(o)
	if err != nil {
		return err
	}
	how := launch.Options{Backend: string(o.Backend), Ranks: t.sum.Ranks, Output: o.Output, CPUs: o.CPUs()}
	results, err := launch.Run(ctx, how, job, arg)
	if err != nil {
		return err
	}
	all := make([][]rankResult, len(results)) // by rank, by row
	for rank, text := range results {
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			return fmt.Errorf("what rank %d found: %w", rank, err)
		}
	}
	row := 0
	for _, p := range o.problems(t.sum.Ranks) {
		var latest []Row
		for _, a := range o.algorithms() {
			latest = append(latest, o.realRow(p, a, all, row))
			row++
		}
		t.add(o, latest)
	}
	return nil
}

// realRow returns the row with the index `row`, computed from the results of all ranks. An
// iteration takes as long as its slowest rank.
func (o *Options) realRow(p *problem, algorithm string, all [][]rankResult, row int) Row {
	var total simtime.Time
	wrong, ranks := 0, make([]simtime.Time, len(all))
	for i := range o.iters() {
		var slowest simtime.Time
		for rank := range all {
			took := simtime.Time(all[rank][row].Times[i]) * simtime.Nanosecond
			slowest = max(slowest, took)
			ranks[rank] += took
		}
		total += slowest
	}
	for rank := range all {
		wrong += all[rank][row].Wrong
	}
	return o.row(p, o.realName(algorithm, len(all), p.rowCase().Size), total, ranks, wrong)
}

// realName returns the name of the algorithm that real ranks use for data of the given
// size. The requested algorithm may be "" or Auto.
func (o *Options) realName(algorithm string, ranks int, size int64) string {
	switch names := o.realAlgorithms(); {
	case len(names) == 1:
		return names[0]
	case algorithm == "" || algorithm == Auto:
		return coll.Pick(ranks, int(size)).String()
	}
	return algorithm
}

// onePEOfEachCube is the layout of a tensor with an addend on each cube of a SIP.
var onePEOfEachCube = torch.DPPolicy{Cube: torch.Partial, NumPEs: 1}

// partial returns a partial tensor `x` with an addend on each cube, and an ordinary tensor
// `host`. Host code can neither write a single addend of `x` nor read a single copy of the
// result. Therefore it writes addends to `host` and reads results from `host`. The tensor
// `host` has a part on each PE that holds an addend, and the PEs copy between the two
// tensors. `host` is nil if there are no values.
func (a *participant) partial() (x, host *torch.Tensor) {
	x = torch.Must(a.rank.Zeros(a.dtype, torch.Shape{a.count}, onePEOfEachCube))
	a.tensors = append(a.tensors, x)
	if a.inputs == nil {
		return x, nil
	}
	shards := x.Shards()
	a.on = []torch.TensorOption{torch.On(lists.Make(len(shards), func(i int) int { return a.rank.PE(shards[i].SIP, shards[i].Cube, shards[i].PE) })...)}
	host = a.tensor(1, 0)
	a.copy(x, host)
	return x, host
}

// copy writes the elements of the tensor `from` to the tensor `to`. Each PE copies its own
// part.
func (a *participant) copy(to, from *torch.Tensor) {
	const step = 1 << 13 // elements at a time
	torch.Must(a.rank.Launch("copy", func(t *tl.PE, to, from tl.Ptr) {
		for at := 0; at < a.count; at += step {
			shape := tl.Shape{min(step, a.count-at)}
			t.Store(to.Add(at), t.Load(from.Add(at), shape, a.dtype))
		}
	}, to, from))
}
