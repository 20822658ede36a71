package collperf

import (
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// reduceOps maps reductions to the operations of package torch/dist.
var reduceOps = map[ccl.Reduction]dist.ReduceOp{
	ccl.Sum: dist.SUM, ccl.Avg: dist.AVG, ccl.Product: dist.PRODUCT, ccl.Min: dist.MIN, ccl.Max: dist.MAX,
	ccl.BAnd: dist.BAND, ccl.BOr: dist.BOR, ccl.BXor: dist.BXOR,
}

// participant is host code that takes part in the collective. It is either a worker with
// the tensors of its own rank, or a program for all ranks. Each tensor of a program
// contains the data of all ranks, one after another.
type participant struct {
	*problem
	rank    *torch.Rank
	mine    []int                // ranks of the participant, or holders of addends
	on      []torch.TensorOption // placement of tensors
	tensors []*torch.Tensor      // all tensors, to be freed
	finish  func()               // called before results are read, unless nil
}

// outcome is the result of one run of a collective.
type outcome struct {
	algorithm  string
	chunk      int            // bytes that no message exceeds
	start, end simtime.Time   // of the launch on the PEs
	ends       []simtime.Time // end of each rank
	outputs    [][]byte       // by holder; empty without values
}

// execute runs the collective once on all ranks of a machine, with settings s. `per` says
// whether ranks are PEs or SIPs.
func (p *problem) execute(r *torch.Rank, s ccl.Settings, per RanksPer) (*outcome, error) {
	o := &outcome{start: simtime.Never, ends: make([]simtime.Time, p.ranks), outputs: make([][]byte, p.holders())}
	if per == PerSIP {
		return o, r.Spawn(func(r *torch.Rank) error {
			a := &participant{problem: p, rank: r, mine: lists.Count(r.Rank()*p.addends, p.addends)}
			return a.takePart(s, o)
		}, p.ranks)
	}
	s.WorldSize = p.ranks
	a := &participant{problem: p, rank: r, mine: lists.Count(0, p.ranks), on: []torch.TensorOption{torch.On(r.AllPEs()[:p.ranks]...)}}
	return o, a.takePart(s, o)
}

// takePart creates a process group, runs the collective in it, and adds the times and
// outputs of the participant's ranks to o.
func (a *participant) takePart(s ccl.Settings, o *outcome) error {
	torch.OK(dist.InitProcessGroup(a.rank, dist.Backend, dist.Settings(s)))
	works, out := a.call()
	for _, w := range works {
		torch.OK(w.Wait())
		// The messages of a sendrecv are separate launches.
		last := w.Stats()
		o.algorithm, o.chunk = last.Algorithm, max(o.chunk, last.Chunk)
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

// call allocates the tensors and starts the collective. It returns the works of the
// collective, for which the caller must wait, and the tensors that will hold the results. A
// result tensor holds, for each rank of the participant, either one block of the rank's
// result or the whole result.
func (a *participant) call() (works []*dist.Work, out []*torch.Tensor) {
	in, blocks := blocks(a.collective, a.ranks)
	op := reduceOps[a.reduction]
	switch a.collective {
	case ccl.Barrier:
		return single(dist.BarrierAsync(a.rank)), nil
	case ccl.AllReduce:
		if a.addends > 1 {
			x, host := a.partial()
			if host != nil {
				a.finish = func() { a.copy(host, x) }
				out = []*torch.Tensor{host}
			}
			return single(dist.AllReduceAsync(a.rank, x, op)), out
		}
		x := a.tensor(1, 0)
		return single(dist.AllReduceAsync(a.rank, x, op)), []*torch.Tensor{x}
	case ccl.Reduce:
		x := a.tensor(1, 0)
		return single(dist.ReduceAsync(a.rank, x, a.root, op)), []*torch.Tensor{x}
	case ccl.Broadcast:
		x := a.tensor(1, 0)
		return single(dist.BroadcastAsync(a.rank, x, a.root)), []*torch.Tensor{x}
	case ccl.Gather:
		list := a.list(func(int) int { return zeros })
		return single(dist.GatherAsync(a.rank, a.tensor(1, 0), list, a.root)), list
	case ccl.Scatter:
		x := a.tensor(1, zeros)
		return single(dist.ScatterAsync(a.rank, x, a.list(func(j int) int { return j }), a.root)), []*torch.Tensor{x}
	}
	x, y := a.tensor(in, 0), a.tensor(blocks, zeros)
	switch a.collective {
	case ccl.AllGather:
		works = single(dist.AllGatherIntoTensorAsync(a.rank, y, x))
	case ccl.ReduceScatter:
		works = single(dist.ReduceScatterTensorAsync(a.rank, y, x, op))
	case ccl.AllToAll:
		works = single(dist.AllToAllSingleAsync(a.rank, y, x, nil, nil))
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

// single returns a list that contains only the work w. It panics if err is not nil.
func single(w *dist.Work, err error) []*dist.Work { return []*dist.Work{torch.Must(w, err)} }

// list returns the tensors of the root in a gather or scatter, one for each rank. Tensor j
// holds block first(j) of the root's input, or zeros if first(j) is the constant zeros.
// list returns nil if the root is not a rank of this participant.
func (a *participant) list(first func(j int) int) []*torch.Tensor {
	if !slices.Contains(a.mine, a.root) {
		return nil
	}
	return lists.Make(a.ranks, func(j int) *torch.Tensor { return a.tensor(1, first(j)) })
}

// zeros selects a tensor that is filled with zeros, instead of a block of the input.
const zeros = -1

// tensor returns a tensor that holds `blocks` blocks for each rank of the participant.
// These are the blocks of the rank's input from block `first` on. They are zeros if `first`
// is the constant zeros, or if there are no values.
func (a *participant) tensor(blocks, first int) *torch.Tensor {
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
		fillRepeating(all[i*size:(i+1)*size], a.inputs[rank], first*block)
	}
	torch.OK(x.CopyFrom(&torch.Array{Shape: shape, DType: a.dtype, Bytes: all}))
	return x
}

// read appends the contents of tensor x to the outputs of the participant's ranks. It does
// nothing if there are no values.
func (a *participant) read(x *torch.Tensor, outputs [][]byte) {
	if a.inputs == nil {
		return
	}
	values := torch.Must(x.Numpy()).Bytes
	size := len(values) / len(a.mine)
	for i, rank := range a.mine {
		if part := values[i*size : (i+1)*size : (i+1)*size]; outputs[rank] == nil {
			outputs[rank] = part
		} else {
			outputs[rank] = append(outputs[rank], part...)
		}
	}
}
