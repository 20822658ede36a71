package benches

import "github.com/kernbench/kernbench/torch"

// breakdownDoc is the end of the Doc of benches that have these columns.
const breakdownDoc = `
Where time went is told of the PE that ends last, of rank 0 where there are ranks:
compute_ns is when an engine of it was at work, exposed_memory_ns when none was and data
moved between memories and TCM, exposed_comm_ns when none was and messages moved or were
waited for, idle_ns the rest: they add up to total_ns. overlapped_memory_ns and
overlapped_comm_ns is how much of compute_ns had data or messages moving beside it.`

// breakdown is columns of a row that say where time went.
func breakdown(b torch.Breakdown) []torch.Metric {
	return []torch.Metric{
		torch.Col("total_ns", b.Total()),
		torch.Col("compute_ns", b.Compute),
		torch.Col("exposed_memory_ns", b.Memory),
		torch.Col("exposed_comm_ns", b.Comm),
		torch.Col("idle_ns", b.Idle),
		torch.Col("overlapped_memory_ns", b.OverlappedMemory),
		torch.Col("overlapped_comm_ns", b.OverlappedComm),
	}
}

// together is the breakdown of all phases.
func together(phases []torch.Phase) (b torch.Breakdown) {
	for _, p := range phases {
		b = b.Add(p.Breakdown)
	}
	return b
}
