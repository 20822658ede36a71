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

// model is tensor-parallel layers that make of tokens with some features others with as
// many. Benches embed activations and add the rest.
type model interface {
	io() *activations
	divided() (n int, what string) // what is cut over the ranks
	products() float64             // of two numbers, to compute it
	elements() float64             // of weights, input and what lies between layers
	fill()                         // makes weights and input
	reference(ranks int) *dense.Matrix
	// layers makes those of the calling rank, with their weights if there are values.
	layers(r *torch.Rank, w way) (forward func(x *torch.Tensor) *torch.Tensor)
	// report adds the rows of a way to do it, which has run on c.
	report(b *bench.B, r *torch.Rank, w way, phases []torch.Phase)
	// ended adds the rows that are known when the machine has ended, at its makespan.
	ended(b *bench.B, w way, makespan torch.Time)
}

// activations is what goes into a model, by the parameters.
type activations struct {
	tokens, hidden int
	dtype          torch.DType
	placement      torch.DPPolicy // of weights
	x              []float32
}

func (a *activations) io() *activations { return a }

func (a *activations) ended(*bench.B, way, torch.Time) {}

// newActivations reads the parameters.
func newActivations(b *bench.B, hidden int) activations {
	return activations{
		tokens: torch.Must(count(b, "tokens", mostSize)), hidden: hidden, dtype: precision(b), placement: weightPlacement(b),
	}
}

// mostSize bounds each size of a model.
const mostSize = 1 << 17

// way is one to run a model.
type way struct {
	system   *topology.Graph
	ranks    int
	sequence bool // parallelism
	overlap  int
}

func (w way) String() string {
	return fmt.Sprintf("tp %d, sequence parallel %t, overlap %d", w.ranks, w.sequence, w.overlap)
}

// wayColumns are columns of a row that say which way it is.
type wayColumns struct {
	Ranks    int  `json:"tp" table:",setting,ranks"`
	Sequence bool `json:"sequence_parallel" table:",setting"`
	Overlap  int  `json:"overlap" table:",setting"`
}

func (w way) columns() wayColumns { return wayColumns{w.ranks, w.sequence, w.overlap} }

// ways returns all ways that the parameters ask for.
func ways(b *bench.B, m model) (list []way) {
	ranks, pieces := torch.Must(counts(b, "tp", 1<<10)), torch.Must(counts(b, "overlap", 1<<10))
	n, what := m.divided()
	torch.OK(divides("tp", what, n, ranks))
	sequence := sequences(b)
	if slices.Contains(sequence, true) {
		torch.OK(divides("tokens", "tokens", m.io().tokens, ranks))
	}
	if most := slices.Max(pieces); most > m.io().hidden {
		torch.OK(&bench.ParamError{Name: "overlap", Err: fmt.Errorf("%d pieces of %d columns", most, m.io().hidden)})
	}
	for _, r := range ranks {
		g := torch.Must(withSIPs(b, r))
		for _, s := range sequence {
			for _, overlap := range pieces {
				if r > 1 || s == sequence[0] && overlap == pieces[0] { // one rank does it in one way
					list = append(list, way{g, r, s, overlap})
				}
			}
		}
	}
	return list
}

// runModel runs a model in all ways that the parameters ask for.
func runModel(b *bench.B, m model) error {
	torch.OK(affordable(b.Rank, m.products(), m.elements()))
	list := ways(b, m)
	if b.HasData() {
		m.fill()
	}
	want := map[int]*dense.Matrix{} // by ranks
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

// run runs a model in one way: the whole bench, or a part of it.
func (w way) run(b *bench.B, m model, whole bool, want *dense.Matrix) error {
	results := make([]*torch.Array, w.ranks)
	a := m.io()
	options, err := between(b)
	if err != nil {
		return err
	}
	var machine *torch.Context
	err = onRanks(b, w.system, whole, options, func(r *torch.Rank) error {
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
	m.ended(b, w, machine.Makespan())
	if b.HasData() && !w.sequence {
		agree(b, fmt.Sprintf("%v, all ranks alike", w), results)
	}
	return nil
}

// breakdownDoc is the end of the Doc of benches that have these columns.
const breakdownDoc = `
The breakdown is that of the PE that ends last, on rank 0 if there are ranks.
compute_ns is the time in which one of its engines worked. Of the rest,
exposed_memory_ns is the time in which data moved between memories and TCM,
exposed_comm_ns the time in which messages moved or the PE waited for them, and
idle_ns the remainder; the four add up to total_ns. overlapped_memory_ns and
overlapped_comm_ns are the parts of compute_ns in which data or messages moved.`

// breakdown are columns of a row that say where time went.
type breakdown struct {
	Total            torch.Time `json:"total_ns" table:"ns,lower"`
	Compute          torch.Time `json:"compute_ns" table:"ns,lower"`
	ExposedMemory    torch.Time `json:"exposed_memory_ns" table:"ns,lower"`
	ExposedComm      torch.Time `json:"exposed_comm_ns" table:"ns,lower,exposed communication"`
	Idle             torch.Time `json:"idle_ns" table:"ns,lower"`
	OverlappedMemory torch.Time `json:"overlapped_memory_ns" table:"ns,result"`
	OverlappedComm   torch.Time `json:"overlapped_comm_ns" table:"ns,result,overlapped communication"`
}

func newBreakdown(b torch.Breakdown) breakdown {
	return breakdown{b.Total(), b.Compute, b.Memory, b.Comm, b.Idle, b.OverlappedMemory, b.OverlappedComm}
}

// together returns the breakdown of all phases.
func together(phases []torch.Phase) (b torch.Breakdown) {
	for _, p := range phases {
		b = b.Add(p.Breakdown)
	}
	return b
}
