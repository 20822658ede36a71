package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
)

// lane is a set of PEs, one for each rank, that exchange the same part of a collective's
// tensors. It has the addresses of their blocks. Lanes are independent and run at the same
// time.
type lane struct {
	pes     []machine.PEID // the PE of each rank
	in, out [][]block      // the blocks that each rank sends and receives, numbered as in ccl.Args
}

// block is a range of elements of the tensor x at consecutive addresses.
type block struct {
	x     *tensor
	va    memory.VA
	elems int
}

// makeLanes divides the tensors of a collective into lanes and leaves out lanes without
// elements. If no lane has elements, it keeps one lane. If all tensors are divided in the
// same way, there is one lane for each shard. If not, rowLanes makes the lanes. The second
// result lists the holders. A member is one holder, or one holder for each addend if its
// tensor is partial. Each lane has one PE for each holder.
func makeLanes(members []member) (lanes []lane, holders []member, err error) {
	if holders, err = splitAddends(members); err != nil {
		return nil, nil, err
	}
	if lanes = shardLanes(holders); lanes == nil {
		if lanes, err = rowLanes(holders); err != nil {
			return nil, nil, err
		}
	}
	used := slices.DeleteFunc(slices.Clone(lanes), lane.empty)
	if len(used) == 0 {
		used = lanes[:1] // a launch without elements still takes time
	}
	return used, holders, nil
}

// add adds a rank on a PE to the lane. The rank sends the first `sent` of the given blocks
// and receives into the other blocks.
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

// splitAddends returns a new list of members. A member with a partial tensor is replaced by
// several members, one for each addend. A collective that reduces over the new members also
// sums the addends.
func splitAddends(members []member) ([]member, error) {
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
			m.shards = func(s span) []shard {
				return slices.DeleteFunc(slices.Clone(shards(s)), func(s shard) bool { return s.Addend != i })
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// shardLanes returns a lane for each shard of the tensors. It returns nil if the tensors
// are not all divided in the same way.
func shardLanes(members []member) []lane {
	var first *tensor
	n, alike := 1, true // n is the number of lanes, which is 1 without tensors
	for _, m := range members {
		for _, s := range m.spans() {
			if first == nil {
				first, n = s.x, len(m.shards(s))
			}
			alike = alike && len(m.shards(s)) == n && (m.isShard || s.x.info.Cuts == first.info.Cuts)
		}
	}
	if !alike {
		return nil
	}
	lanes := make([]lane, n)
	for j := range lanes {
		for _, m := range members {
			at, blocks := m.defaultPE, []block(nil)
			for i, s := range m.spans() {
				held := m.shards(s)[j]
				b, ok := s.blockIn(held, m.elems(s))
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

// blockIn returns the part of the span that a shard contains. elems is the number of
// elements of the tensor. The second result is false if this part is not consecutive in the
// shard, or if the shard does not contain a part of every row.
func (s span) blockIn(held shard, elems int) (block, bool) {
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

// rowLanes returns the lanes for tensors that are divided in different ways. All tensors
// must be row-major in memory. If ranks pass no tensor whole, but only blocks of tensors,
// or if blocks differ in size, there is a single lane. Otherwise there is one lane for each
// shard of the tensor that ranks pass whole. All ranks must then divide that tensor in the
// same way. If they do not, rowLanes returns a single lane if some tensor is a slice, and
// an error if no tensor is a slice.
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
	whole := make([][]shard, len(members))
	for i := range members {
		whole[i] = members[i].wholeShards()
	}
	pattern := whole[0]
	if pattern == nil || !uniform {
		return []lane{rowLane(members, whole, 0, 0, -1)}, nil
	}
	var lanes []lane
	from := 0
	for j, held := range pattern {
		for i, m := range members {
			mine := whole[i]
			if len(mine) == len(pattern) && mine[j].Elems == held.Elems {
				continue
			}
			if sliced {
				return []lane{rowLane(members, whole, 0, 0, -1)}, nil
			}
			return nil, fmt.Errorf("ranks %d and %d bring tensors that are cut differently: lay them out alike", members[0].rank, m.rank)
		}
		lanes = append(lanes, rowLane(members, whole, j, from, held.Elems))
		from += held.Elems
	}
	return lanes, nil
}

// wholeShards returns the shards of the first tensor that the member passes whole, not in
// blocks, or nil if there is none. It omits empty shards unless all shards are empty.
func (m *member) wholeShards() []shard {
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

// count returns the number of elements of the span s.
func (m *member) count(s span) int {
	if s.count < 0 {
		return m.elems(s)
	}
	return s.count
}

// rowLane returns a lane that exchanges a range of every block: `elems` elements, beginning
// with element number `from`. elems = -1 means all elements. whole[i] is the result of
// wholeShards for member i: the shards of a tensor that the member does not divide into
// blocks, or nil. Member i takes part on the PE of shard whole[i][j], or on its default PE
// if whole[i] is nil.
func rowLane(members []member, whole [][]shard, j, from, elems int) (l lane) {
	for i, m := range members {
		at := m.defaultPE
		if whole[i] != nil {
			at = whole[i][j].At
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

// rowMajor reports whether the shards contain the whole tensor x in row-major order and
// follow each other in memory without gaps.
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

// contiguous reports whether the elements of the shard are consecutive in a row-major
// tensor; axes has the extents of the tensor. An empty shard is contiguous.
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
