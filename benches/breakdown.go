package benches

import "github.com/kernbench/kernbench/torch"

// breakdownDoc is the end of the Doc of benches that have these columns.
const breakdownDoc = `
Where time went is told of the PE that ends last, of rank 0 where there are ranks:
compute_ns is when an engine of it was at work, exposed_memory_ns when none was and data
moved between memories and TCM, exposed_comm_ns when none was and messages moved or were
waited for, idle_ns the rest: they add up to total_ns. overlapped_memory_ns and
overlapped_comm_ns is how much of compute_ns had data or messages moving beside it.`

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
