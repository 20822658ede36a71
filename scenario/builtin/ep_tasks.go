package builtin

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// epTaskRows is the largest number of rows that a task sends, or of tokens that it
// combines.
const epTaskRows = 16

// epTasks submits the work of epDispatchCombine as tasks. A dispatch task sends a parcel,
// and a combine task combines several tokens. Each task is a task group whose PEs divide
// the rows of the task among them.
func epTasks(b *task.Builder, x, w, recv, y *task.Tensor, tokens, topk, dim, experts, seed, group int) {
	routes := route(b.NumRanks(), tokens, topk, experts, seed)[b.Rank()]
	var all task.ID
	b.Scope("dispatch", func() {
		start := submitBarrier(b, ready, nil)
		last := []task.ID{start}
		for _, p := range mergeParcels(routes) {
			last = append(last, b.Submit("dispatch", epDispatchRows, task.Args{
				task.Scalar("to", p), task.In("x", x), atRank(b, p.rank, task.Out, "recv", recv.Rows(p.row, len(p.tokens))), task.Scalar("dim", dim),
			}, task.After(start), task.Group(group)))
		}
		all = submitBarrier(b, dispatched, nil, last...)
	})
	b.Scope("combine", func() {
		last := []task.ID{all}
		for token := 0; token < tokens; token += epTaskRows {
			n := min(epTaskRows, tokens-token)
			last = append(last, b.Submit("combine", epCombineRows, task.Args{
				task.Scalar("from", routes[token:token+n]), task.In("w", w.Rows(token, n)), task.In("recv", recv), task.Out("y", y.Rows(token, n)), task.Scalar("dim", dim),
			}, task.After(all), task.Group(group)))
		}
		submitBarrier(b, combined, nil, last...)
	})
}

// epDispatchRows sends the rows of the tokens in parcel p to recv, which begins at the
// first row of the parcel. Each member of the task group sends some of the rows.
func epDispatchRows(t *tl.PE, p parcel, x, recv tl.Ptr, dim int) {
	from, rows := chunk(len(p.tokens), t.NumPrograms(0), t.ProgramID(0))
	for i, token := range p.tokens[from : from+rows] {
		sendTile(t, p.rank, x.At(token), recv.At(from+i), dim)
	}
}

// epCombineRows runs epCombine for several tokens. `routes` lists the visits of each token,
// and w and y have one row for each token. Each member of the task group combines some of
// the tokens.
func epCombineRows(t *tl.PE, routes [][]visit, w, recv, y tl.Ptr, dim int) {
	from, rows := chunk(len(routes), t.NumPrograms(0), t.ProgramID(0))
	for i, visits := range routes[from : from+rows] {
		epCombine(t, visits, w.At(from+i), recv, y.At(from+i), dim)
	}
}

// parcel is a list of tokens that go to consecutive rows of a rank's window.
type parcel struct {
	rank, row int // the destination of the first token
	tokens    []int
}

// mergeParcels returns the parcels that a rank sends. Tokens that go to consecutive rows of
// the same rank are in one parcel, but a parcel has at most epTaskRows tokens. `routes`
// lists the visits of each token.
func mergeParcels(routes [][]visit) (list []parcel) {
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
