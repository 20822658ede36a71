package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
)

// lane is the PEs that hold the same part of a collective's tensors, one for each
// rank, and where their blocks are. Lanes have nothing to do with each other and run
// side by side.
type lane struct {
	pes     []machine.PEID
	in, out [][]block // by rank, then by block as ccl.Args counts them
}

// block is some elements at consecutive addresses.
type block struct {
	x     *tensor
	va    memory.VA
	elems int
}

// cut makes lanes of the members' tensors: one for each shard where all tensors are
// cut alike, and otherwise, where all are row-major in their addresses, one for each
// shard of the tensor that a rank brings whole. It also returns the members of a lane, by
// rank: each holder of an addend is one.
func cut(members []member) (lanes []lane, holders []member, err error) {
	if holders, err = addends(members); err != nil {
		return nil, nil, err
	}
	if lanes = shardLanes(holders); lanes == nil {
		if lanes, err = rowLanes(holders); err != nil {
			return nil, nil, err
		}
	}
	used := slices.DeleteFunc(slices.Clone(lanes), lane.empty)
	if len(used) == 0 {
		used = lanes[:1] // there is nothing to do, and that takes its time
	}
	return used, holders, nil
}

// add adds a rank on a PE, with its blocks: the first of them are sent.
func (l *lane) add(at machine.PEID, blocks []block, sent int) {
	l.pes, l.in, l.out = append(l.pes, at), append(l.in, blocks[:sent:sent]), append(l.out, blocks[sent:])
}

// empty reports whether no block of the lane has elements.
func (l lane) empty() bool {
	for _, blocks := range slices.Concat(l.in, l.out) {
		if slices.ContainsFunc(blocks, func(b block) bool { return b.elems > 0 }) {
			return false
		}
	}
	return true
}

// addends makes a member of each holder of an addend: a collective that reduces over
// the ranks reduces over them too.
func addends(members []member) ([]member, error) {
	var all []member
	for _, m := range members {
		n := 1
		for _, s := range m.spans() {
			for _, held := range m.shards(s) {
				n = max(n, held.Addend+1)
			}
		}
		if n > 1 && m.collective != ccl.AllReduce {
			return nil, fmt.Errorf("rank %d brings a partial tensor, whose holders have addends: all-reduce it first", m.rank)
		}
		if n == 1 {
			all = append(all, m)
			continue
		}
		shards := m.shards
		for i := range n {
			m.shards = func(of span) []shard {
				return slices.DeleteFunc(slices.Clone(shards(of)), func(s shard) bool { return s.Addend != i })
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// shardLanes returns a lane for each shard, nil if some tensor is not cut alike.
func shardLanes(members []member) []lane {
	var first *tensor
	n, alike := 1, true // without tensors there is one lane
	for _, m := range members {
		for _, s := range m.spans() {
			if first == nil {
				first, n = s.x, len(m.shards(s))
			}
			alike = alike && len(m.shards(s)) == n && (m.part || s.x.info.Cuts == first.info.Cuts)
		}
	}
	if !alike {
		return nil
	}
	lanes := make([]lane, n)
	for j := range lanes {
		for _, m := range members {
			at, blocks := m.single, []block(nil)
			for i, s := range m.spans() {
				held := m.shards(s)[j]
				b, ok := s.of(held, m.elems(s))
				if !ok || i > 0 && held.At != at {
					return nil
				}
				at, blocks = held.At, append(blocks, b)
			}
			lanes[j].add(at, blocks, len(m.in))
		}
	}
	return lanes
}

// of returns the span's elements in a shard of a tensor that has so many, if these are
// consecutive there and the shard has its share of every row.
func (s span) of(held shard, elems int) (block, bool) {
	size := memory.VA(s.x.info.DType.Size())
	switch {
	case s.count < 0 || s.count == elems:
		return block{s.x, held.VA, held.Elems}, true
	case held.Elems == elems:
		return block{s.x, held.VA + memory.VA(s.from)*size, s.count}, true
	}
	rows := s.x.info.Axes[0]
	if held.Extent[0] != rows || rows == 0 || s.from%(elems/rows) != 0 || s.count%(elems/rows) != 0 {
		return block{}, false
	}
	width := elems / rows
	mine := held.Elems / rows
	return block{s.x, held.VA + memory.VA(s.from/width*mine)*size, s.count / width * mine}, true
}

// rowLanes returns a lane for each shard of the tensor that a rank brings whole, if there is
// one and blocks are as large as it, and otherwise one lane. It needs tensors whose
// addresses are row-major. Slices that ranks have cut differently are one lane too.
func rowLanes(members []member) ([]lane, error) {
	uniform, sliced := true, false
	first := -1
	for _, m := range members {
		for _, s := range m.spans() {
			if !rowMajor(m.shards(s), s.x) {
				return nil, fmt.Errorf("rank %d: a part of %s does not lie in one piece: cut it by columns, or by rows without copies, or give it to one PE, and cut all tensors of a collective alike", m.rank, s.x.info.Name)
			}
			n := m.count(s)
			uniform = uniform && (first < 0 || n == first)
			sliced = sliced || s.x.info.Irregular()
			first = n
		}
	}
	entire := make([][]shard, len(members))
	for i := range members {
		entire[i] = members[i].entire()
	}
	pattern := entire[0]
	if pattern == nil || !uniform {
		return []lane{rowLane(members, entire, 0, 0, -1)}, nil
	}
	var lanes []lane
	from := 0
	for j, held := range pattern {
		for i, m := range members {
			mine := entire[i]
			if len(mine) == len(pattern) && mine[j].Elems == held.Elems {
				continue
			}
			if sliced {
				return []lane{rowLane(members, entire, 0, 0, -1)}, nil
			}
			return nil, fmt.Errorf("ranks %d and %d bring tensors that are cut differently: lay them out alike", members[0].rank, m.rank)
		}
		lanes = append(lanes, rowLane(members, entire, j, from, held.Elems))
		from += held.Elems
	}
	return lanes, nil
}

// entire returns the shards of a tensor that the rank brings whole, without empty ones unless
// there are no others.
func (m *member) entire() []shard {
	for _, s := range m.spans() {
		if m.count(s) == m.elems(s) {
			all := m.shards(s)
			used := slices.DeleteFunc(slices.Clone(all), func(s shard) bool { return s.Elems == 0 })
			if len(used) == 0 {
				used = all
			}
			return used
		}
	}
	return nil
}

// count returns the number of elements of a span.
func (m *member) count(s span) int {
	if s.count < 0 {
		return m.elems(s)
	}
	return s.count
}

// rowLane returns the lane of some elements of every block, on shard j of the tensors that
// ranks bring whole; elems is -1 for all of them.
func rowLane(members []member, entire [][]shard, j, from, elems int) (l lane) {
	for i, m := range members {
		at := m.single
		if entire[i] != nil {
			at = entire[i][j].At
		}
		var blocks []block
		for _, s := range m.spans() {
			n := elems
			if n < 0 {
				n = m.count(s)
			}
			blocks = append(blocks, block{s.x, s.x.info.Base + memory.VA((s.from+from)*s.x.info.DType.Size()), n})
		}
		l.add(at, blocks, len(m.in))
	}
	return l
}

// rowMajor reports whether shards without gaps, one after the other in their addresses, are
// the whole tensor in row-major order.
func rowMajor(shards []shard, x *tensor) bool {
	at, next, axes := 0, memory.VA(0), x.info.Axes
	for _, s := range shards {
		if s.Copy > 0 || s.Addend > 0 || !contiguous(&s, axes) {
			return false
		}
		if s.Elems == 0 {
			continue
		}
		start := 0
		for axis, n := range axes {
			start = start*n + s.Start[axis]
		}
		if start != at || at > 0 && s.VA != next {
			return false
		}
		at += s.Elems
		next = s.VA + memory.VA(s.Bytes)
	}
	return at == x.Numel()
}

// contiguous reports whether the elements of the shard follow each other in the row-major
// tensor, or there are none.
func contiguous(s *shard, axes []int) bool {
	stride, n := 1, 1
	for axis := len(axes) - 1; axis >= 0 && s.Elems > 0; axis-- {
		if stride != n && s.Extent[axis] != 1 {
			return false
		}
		stride, n = stride*axes[axis], n*s.Extent[axis]
	}
	return true
}
