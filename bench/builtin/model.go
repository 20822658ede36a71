package builtin

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

// model is a stack of tensor-parallel layers whose output has as many tokens and features
// as its input. Benches embed activations and implement the other methods.
type model interface {
	base() *activations
	shardedSize() (n int, what string) // size that is divided over the ranks, and its name
	products() float64                 // number of multiplications in a forward pass
	elements() float64                 // number of elements of weights, input and intermediate results
	fill()                             // computes the values of weights and input
	reference(ranks int) *dense.Matrix
	// layers builds the layers of rank r, with their weights if values are computed. It
	// returns the forward pass.
	layers(r *torch.Rank, w variant) (forward func(x *torch.Tensor) *torch.Tensor)
	// report adds the rows of a variant. phases are the phases of rank 0.
	report(b *bench.B, r *torch.Rank, w variant, phases []torch.Phase)
	// reportEnd adds the rows that are known only when the machine has ended.
	reportEnd(b *bench.B, w variant, makespan torch.Time)
}

// activations are the input of a model and its sizes, as the parameters choose them.
type activations struct {
	tokens, hidden int
	dtype          torch.DType
	placement      torch.DPPolicy // placement of the weights
	x              []float32
}

// base returns the activations that a model embeds.
func (a *activations) base() *activations { return a }

// reportEnd adds no rows. A model that has rows to add at the end has its own reportEnd.
func (a *activations) reportEnd(*bench.B, variant, torch.Time) {}

// newActivations returns the input of a model with the sizes that the parameters choose.
// The values are not computed yet.
func newActivations(b *bench.B, hidden int) activations {
	return activations{
		tokens: torch.Must(countParam(b, "tokens", maxSize)), hidden: hidden, dtype: dtypeOf(b), placement: weightPlacement(b),
	}
}

// maxSize is the largest value of each size of a model.
const maxSize = 1 << 17

// variant is one way to run a model.
type variant struct {
	system   *topology.Graph
	ranks    int
	sequence bool // sequence parallelism
	overlap  int  // number of pieces in which a row-parallel result is reduced
}

func (w variant) String() string {
	return fmt.Sprintf("tp %d, sequence parallel %t, overlap %d", w.ranks, w.sequence, w.overlap)
}

// variantColumns are the columns of a row that identify the variant.
type variantColumns struct {
	Ranks    int  `json:"tp" table:",setting,ranks"`
	Sequence bool `json:"sequence_parallel" table:",setting"`
	Overlap  int  `json:"overlap" table:",setting"`
}

func (w variant) columns() variantColumns { return variantColumns{w.ranks, w.sequence, w.overlap} }

// variants returns all variants that the parameters choose. With one rank there is only one
// variant, because sequence parallelism and overlap need several ranks. It panics if a
// parameter is invalid.
func variants(b *bench.B, m model) (list []variant) {
	ranks, pieces := torch.Must(countsParam(b, "tp", 1<<10)), torch.Must(countsParam(b, "overlap", 1<<10))
	n, what := m.shardedSize()
	torch.OK(checkDivides("tp", what, n, ranks))
	sequence := sequenceModes(b)
	if slices.Contains(sequence, true) {
		torch.OK(checkDivides("tokens", "tokens", m.base().tokens, ranks))
	}
	if most := slices.Max(pieces); most > m.base().hidden {
		torch.OK(&bench.ParamError{Name: "overlap", Err: fmt.Errorf("%d pieces of %d columns", most, m.base().hidden)})
	}
	for _, r := range ranks {
		g := torch.Must(systemWithSIPs(b, r))
		for _, s := range sequence {
			for _, overlap := range pieces {
				if r > 1 || s == sequence[0] && overlap == pieces[0] { // one rank has only one variant
					list = append(list, variant{g, r, s, overlap})
				}
			}
		}
	}
	return list
}

// runModel runs all variants of a model that the parameters choose.
func runModel(b *bench.B, m model) error {
	torch.OK(checkAffordable(b.Rank, m.products(), m.elements()))
	list := variants(b, m)
	if b.HasData() {
		m.fill()
	}
	want := map[int]*dense.Matrix{} // by number of ranks
	for _, w := range list {
		if b.HasData() && want[w.ranks] == nil {
			want[w.ranks] = m.reference(w.ranks)
		}
		if err := w.run(b, m, len(list) == 1, want[w.ranks]); err != nil {
			return fmt.Errorf("%v: %w", w, err)
		}
	}
	return nil
}

// run runs one variant of a model and checks that its result equals `want` within the
// tolerance. `whole` is set if the bench has no other variant.
func (w variant) run(b *bench.B, m model, whole bool, want *dense.Matrix) error {
	results := make([]*torch.Array, w.ranks)
	a := m.base()
	options, err := groupOptions(b)
	if err != nil {
		return err
	}
	var machine *torch.Context
	err = runOnRanks(b, w.system, whole, options, func(r *torch.Rank) error {
		rank := r.Rank()
		machine = r.Context
		forward := m.layers(r, w)
		rows, first := a.tokens, 0
		if w.sequence {
			rows = a.tokens / w.ranks
			first = rank * rows
		}
		x := torch.Must(r.Empty(a.dtype, torch.Shape{rows, a.hidden}, tp.Activations(a.placement)))
		if r.HasData() {
			torch.OK(x.CopyFrom(a.x[first*a.hidden : (first+rows)*a.hidden]))
		}
		profile := torch.Must(r.Profile())
		y := forward(x)
		phases := torch.Must(profile.Stop())
		if rank == 0 {
			m.report(b, r, w, phases)
		}
		if !r.HasData() {
			return nil
		}
		results[rank] = torch.Must(y.Numpy())
		part := want.Slice(first, 0, rows, a.hidden)
		return r.CheckWithin(fmt.Sprintf("%v, rank %d", w, rank), y, part.V, part.Tolerances())
	})
	if err != nil {
		return err
	}
	m.reportEnd(b, w, machine.Makespan())
	if b.HasData() && !w.sequence {
		checkSameBits(b, fmt.Sprintf("%v, all ranks alike", w), results)
	}
	return nil
}

// breakdownDoc is the end of the Doc of benches whose rows have the columns of breakdown.
const breakdownDoc = `
The breakdown is that of the PE that ends last, on rank 0 if there are ranks.
compute_ns is the time in which one of its engines worked. Of the rest,
exposed_memory_ns is the time in which data moved between memories and TCM,
exposed_comm_ns the time in which messages moved or the PE waited for them, and
idle_ns the remainder; the four add up to total_ns. overlapped_memory_ns and
overlapped_comm_ns are the parts of compute_ns in which data or messages moved.`

// breakdown has the columns of a row for a time and its parts: compute, exposed and idle
// time.
type breakdown struct {
	Total            torch.Time `json:"total_ns" table:"ns,lower"`
	Compute          torch.Time `json:"compute_ns" table:"ns,lower"`
	ExposedMemory    torch.Time `json:"exposed_memory_ns" table:"ns,lower"`
	ExposedComm      torch.Time `json:"exposed_comm_ns" table:"ns,lower,exposed communication"`
	Idle             torch.Time `json:"idle_ns" table:"ns,lower"`
	OverlappedMemory torch.Time `json:"overlapped_memory_ns" table:"ns,result"`
	OverlappedComm   torch.Time `json:"overlapped_comm_ns" table:"ns,result,overlapped communication"`
}

// newBreakdown converts a breakdown of a time to the columns of a row.
func newBreakdown(b torch.Breakdown) breakdown {
	return breakdown{b.Total(), b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm}
}

// sumPhases returns the sum of the breakdowns of all phases.
func sumPhases(phases []torch.Phase) (b torch.Breakdown) {
	for _, p := range phases {
		b = b.Add(p.Breakdown)
	}
	return b
}
