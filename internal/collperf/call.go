package collperf

import (
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// reduceOps is the reductions as torch has them.
var reduceOps = map[ccl.Reduction]dist.ReduceOp{
	ccl.Sum: dist.SUM, ccl.Avg: dist.AVG, ccl.Product: dist.PRODUCT, ccl.Min: dist.MIN, ccl.Max: dist.MAX,
	ccl.BAnd: dist.BAND, ccl.BOr: dist.BOR, ccl.BXor: dist.BXOR,
}

// party is host code that takes part in the collective: a worker with the tensors of
// its rank, or a program with those of all ranks, one after the other in each tensor.
type party struct {
	*problem
	rank    *torch.Rank
	mine    []int // ranks, or holders of addends
	on      []torch.TensorOption
	tensors []*torch.Tensor // all, to be freed
	finish  func()          // before results are read, if there is something to do
}

// outcome is what came of a collective.
type outcome struct {
	algorithm  string
	start, end simtime.Time   // on the PEs
	ends       []simtime.Time // the same, by rank
	outputs    [][]byte       // by holder; nothing without values
}

// execute has the ranks do the collective.
func (p *problem) execute(r *torch.Rank, s ccl.Settings, per RanksPer) (*outcome, error) {
	o := &outcome{start: simtime.Never, ends: make([]simtime.Time, p.ranks), outputs: make([][]byte, p.holders())}
	if per == PerSIP {
		return o, r.Spawn(func(r *torch.Rank) error {
			a := &party{problem: p, rank: r, mine: lists.Count(r.Rank()*p.addends, p.addends)}
			return a.takePart(s, o)
		}, p.ranks)
	}
	s.WorldSize = p.ranks
	a := &party{problem: p, rank: r, mine: lists.Count(0, p.ranks), on: []torch.TensorOption{torch.On(r.AllPEs()[:p.ranks]...)}}
	return o, a.takePart(s, o)
}

func (a *party) takePart(s ccl.Settings, o *outcome) error {
	torch.OK(dist.InitProcessGroup(a.rank, dist.Backend, dist.Settings(s)))
	works, out := a.call()
	for _, w := range works {
		torch.OK(w.Wait())
		// The messages of a sendrecv are launches of their own.
		last := w.Stats()
		o.algorithm = last.Algorithm
		o.start, o.end = min(o.start, last.Start), max(o.end, last.Start+last.Crit)
		for i, rank := range last.Ranks {
			o.ends[rank] = max(o.ends[rank], last.Start+last.Exec[i])
		}
	}
	if a.finish != nil {
		a.finish()
	}
	for _, x := range out {
		a.read(x, o.outputs)
	}
	for _, x := range a.tensors {
		torch.OK(x.Free())
	}
	return dist.DestroyProcessGroup(a.rank)
}

// call makes the tensors and calls the collective. Results are in the tensors out, each
// of which has the next block, or all blocks, of its ranks.
func (a *party) call() (works []*dist.Work, out []*torch.Tensor) {
	in, blocks := blocks(a.collective, a.ranks)
	op := reduceOps[a.reduction]
	switch a.collective {
	case ccl.Barrier:
		return one(dist.BarrierAsync(a.rank)), nil
	case ccl.AllReduce:
		if a.addends > 1 {
			x, host := a.partial()
			if host != nil {
				a.finish = func() { a.copy(host, x) }
				out = []*torch.Tensor{host}
			}
			return one(dist.AllReduceAsync(a.rank, x, op)), out
		}
		x := a.tensor(1, 0)
		return one(dist.AllReduceAsync(a.rank, x, op)), []*torch.Tensor{x}
	case ccl.Reduce:
		x := a.tensor(1, 0)
		return one(dist.ReduceAsync(a.rank, x, a.root, op)), []*torch.Tensor{x}
	case ccl.Broadcast:
		x := a.tensor(1, 0)
		return one(dist.BroadcastAsync(a.rank, x, a.root)), []*torch.Tensor{x}
	case ccl.Gather:
		list := a.list(func(int) int { return zeros })
		return one(dist.GatherAsync(a.rank, a.tensor(1, 0), list, a.root)), list
	case ccl.Scatter:
		x := a.tensor(1, zeros)
		return one(dist.ScatterAsync(a.rank, x, a.list(func(j int) int { return j }), a.root)), []*torch.Tensor{x}
	}
	x, y := a.tensor(in, 0), a.tensor(blocks, zeros)
	switch a.collective {
	case ccl.AllGather:
		works = one(dist.AllGatherIntoTensorAsync(a.rank, y, x))
	case ccl.ReduceScatter:
		works = one(dist.ReduceScatterTensorAsync(a.rank, y, x, op))
	case ccl.AllToAll:
		works = one(dist.AllToAllSingleAsync(a.rank, y, x, nil, nil))
	case ccl.SendRecv:
		var ops []dist.P2POp
		for _, rank := range a.mine {
			ops = append(ops,
				dist.P2POp{Kind: dist.Sends, Tensor: x, Peer: (rank + 1) % a.ranks, Rank: rank},
				dist.P2POp{Kind: dist.Recvs, Tensor: y, Peer: (rank + a.ranks - 1) % a.ranks, Rank: rank})
		}
		works = torch.Must(dist.BatchISendIRecv(a.rank, ops))
	}
	return works, []*torch.Tensor{y}
}

func one(w *dist.Work, err error) []*dist.Work { return []*dist.Work{torch.Must(w, err)} }

// list returns a tensor for each block of the root, with the block of inputs that a function
// selects. Workers that are not the root have none.
func (a *party) list(first func(j int) int) []*torch.Tensor {
	if !slices.Contains(a.mine, a.root) {
		return nil
	}
	return lists.Make(a.ranks, func(j int) *torch.Tensor { return a.tensor(1, first(j)) })
}

// zeros selects no block of inputs.
const zeros = -1

// tensor returns a tensor of some blocks for each rank: those of the rank's input from the
// first on, or zeros. A rank without an input has zeros too.
func (a *party) tensor(blocks, first int) *torch.Tensor {
	shape := torch.Shape{len(a.mine) * blocks * a.count}
	x := torch.Must(a.rank.Zeros(a.dtype, shape, a.on...))
	a.tensors = append(a.tensors, x)
	if first == zeros || a.inputs == nil {
		return x
	}
	block := a.count * a.dtype.Size()
	size := blocks * block
	all := make([]byte, len(a.mine)*size)
	for i, rank := range a.mine {
		again(all[i*size:(i+1)*size], a.inputs[rank], first*block)
	}
	torch.OK(x.CopyFrom(&torch.Array{Shape: shape, DType: a.dtype, Bytes: all}))
	return x
}

// read adds what a tensor holds to the outputs of its ranks.
func (a *party) read(x *torch.Tensor, outputs [][]byte) {
	if a.inputs == nil {
		return
	}
	values := torch.Must(x.Numpy()).Bytes
	size := len(values) / len(a.mine)
	for i, rank := range a.mine {
		outputs[rank] = append(outputs[rank], values[i*size:(i+1)*size]...)
	}
}
