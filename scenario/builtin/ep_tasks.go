package builtin

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// epTaskRows is the most rows that a task sends, or tokens that it combines.
const epTaskRows = 16

// epTasks has a task for some rows that go to one rank and lie there side by side, and
// one for some tokens that are combined. Each is a group of PEs that share the rows.
func epTasks(b *task.Builder, x, w, recv, y *task.Tensor, tokens, topk, dim, experts, seed, group int) {
	routes := route(b.NumRanks(), tokens, topk, experts, seed)[b.Rank()]
	var all task.ID
	b.Scope("dispatch", func() {
		start := meet(b, ready, nil)
		last := []task.ID{start}
		for _, p := range parcels(routes) {
			last = append(last, b.Submit("dispatch", epDispatchRows, task.Args{
				task.Scalar("to", p), task.In("x", x), atRank(b, p.rank, task.Out, "recv", recv.Rows(p.row, len(p.tokens))), task.Scalar("dim", dim),
			}, task.After(start), task.Group(group)))
		}
		all = meet(b, dispatched, nil, last...)
	})
	b.Scope("combine", func() {
		last := []task.ID{all}
		for token := 0; token < tokens; token += epTaskRows {
			n := min(epTaskRows, tokens-token)
			last = append(last, b.Submit("combine", epCombineRows, task.Args{
				task.Scalar("from", routes[token:token+n]), task.In("w", w.Rows(token, n)), task.In("recv", recv), task.Out("y", y.Rows(token, n)), task.Scalar("dim", dim),
			}, task.After(all), task.Group(group)))
		}
		meet(b, combined, nil, last...)
	})
}

// epDispatchRows sends the rows of a parcel, of which recv is the place.
func epDispatchRows(t *tl.PE, p parcel, x, recv tl.Ptr, dim int) {
	from, rows := chunk(len(p.tokens), t.NumPrograms(0), t.ProgramID(0))
	for i, token := range p.tokens[from : from+rows] {
		sendTile(t, p.rank, x.At(token), recv.At(from+i), dim)
	}
}

// epCombineRows combines tokens, of which w and y are the rows.
func epCombineRows(t *tl.PE, routes [][]visit, w, recv, y tl.Ptr, dim int) {
	from, rows := chunk(len(routes), t.NumPrograms(0), t.ProgramID(0))
	for i, visits := range routes[from : from+rows] {
		epCombine(t, visits, w.At(from+i), recv, y.At(from+i), dim)
	}
}

// parcel is tokens that go to rows of a rank's window that lie side by side.
type parcel struct {
	rank, row int
	tokens    []int
}

// parcels is what a rank sends, with at most epTaskRows tokens each.
func parcels(routes [][]visit) (list []parcel) {
	for token, visits := range routes {
		for _, v := range visits {
			list = append(list, parcel{v.rank, v.row, []int{token}})
		}
	}
	slices.SortFunc(list, func(a, b parcel) int { return cmp.Or(a.rank-b.rank, a.row-b.row) })
	n := 0
	for _, p := range list {
		if n > 0 {
			if q := &list[n-1]; q.rank == p.rank && q.row+len(q.tokens) == p.row && len(q.tokens) < epTaskRows {
				q.tokens = append(q.tokens, p.tokens...)
				continue
			}
		}
		list[n] = p
		n++
	}
	return list[:n]
}
