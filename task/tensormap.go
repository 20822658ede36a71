package task

import (
	"math/bits"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// Dependencies returns, for each task, the earlier tasks of its rank that it waits for, in
// order and without duplicates. These are the tasks of its explicit edges and, if
// `inferred` is set, the tasks with which it conflicts. A conflict with an earlier task is
// left out if another task has overwritten the whole region of the earlier task in between.
// The conflict with the overwriting task implies the one with the earlier task.
func (p *Program) Dependencies(inferred bool) [][]ID {
	d := newDependencies(inferred)
	d.extend(p)
	return d.predecessors
}

// dependencies finds, for each task of a program, the tasks of the same rank that it waits
// for. The program may grow.
type dependencies struct {
	inferred bool
	conflicts
}

func newDependencies(inferred bool) dependencies {
	return dependencies{inferred, conflicts{maps: map[*Tensor]*tensorMap{}}}
}

// extend finds the dependencies of the tasks that were added to program p since the last
// call.
func (d *dependencies) extend(p *Program) {
	d.predecessors = slices.Grow(d.predecessors, len(p.Tasks)-len(d.predecessors))
	for i := len(d.predecessors); i < len(p.Tasks); i++ {
		t := &p.Tasks[i]
		switch {
		case p.builder != nil && p.builder.single && d.inferred: // Submit has found the conflicts
			found := slices.Concat(t.After, t.inferred)
			slices.Sort(found)
			d.predecessors = append(d.predecessors, found)
		case d.inferred:
			d.addTask(t.After, t.Args)
		default:
			d.addTask(t.After, nil)
		}
	}
}

// conflicts finds, for each task, the earlier tasks that it waits for.
type conflicts struct {
	predecessors [][]ID // by task: the earlier tasks that it waits for
	maps         map[*Tensor]*tensorMap
	accesses     []access // of the task that is being added
}

// access is a read or write of a box of a tensor by a task.
type access struct {
	*tensorMap
	*box
	writes bool
}

// addTask adds the next task. It returns the tasks that the new task waits for, in order
// and without duplicates: the tasks in `after`, and the earlier tasks that conflict with
// the arguments args of the new task.
func (c *conflicts) addTask(after []ID, args []Arg) []ID {
	c.accesses = c.accesses[:0]
	for i := range args {
		if r, does := args[i].regionAccess(); does != 0 && !r.empty() {
			if c.maps[r.Tensor] == nil {
				c.maps[r.Tensor] = &tensorMap{}
			}
			c.accesses = append(c.accesses, access{c.maps[r.Tensor], &r.box, does&Writes != 0})
		}
	}
	found := slices.Clone(after)
	for _, a := range c.accesses {
		found = a.appendConflicts(found)
	}
	slices.Sort(found)
	found = slices.Clip(slices.Compact(found))
	c.predecessors = append(c.predecessors, found)
	for _, a := range c.accesses { // after the search, because a task does not wait for itself
		a.record(ID(len(c.predecessors)-1), c.predecessors)
	}
	return found
}

// tensorMap records which tasks have read and written which boxes of a tensor. It forgets
// accesses that no later task needs to wait for.
type tensorMap struct {
	read, written boxIndex
	lastSweep     ID // the last task for which dropReads searched
}

// appendConflicts appends to `to` the earlier tasks with which the access conflicts, and
// returns the list.
func (a access) appendConflicts(to []ID) []ID {
	note := func(e *entry) { to = append(to, e.task) }
	a.written.forOverlapping(a.box, note)
	if a.writes {
		a.read.forOverlapping(a.box, note)
	}
	return to
}

// record adds the access of task `by` to the map of its tensor. It marks earlier accesses
// that no later task needs to wait for as obsolete. A write makes all accesses that it
// covers obsolete, because a later task that conflicts with such an access also conflicts
// with the write. A read makes the earlier reads obsolete that dropReads finds with the
// help of predecessors, which lists for each task the tasks that it waits for.
func (a access) record(by ID, predecessors [][]ID) {
	if !a.writes {
		a.dropReads(by, predecessors)
		a.read.add(entry{task: by, box: *a.box})
		return
	}
	hide := func(e *entry) { e.obsolete = e.task != by && a.covers(&e.box) }
	a.written.forOverlapping(a.box, hide)
	a.read.forOverlapping(a.box, hide)
	a.written.add(entry{task: by, box: *a.box})
}

// dropReads marks earlier reads as obsolete if this read of task `by` covers them. It does
// so only for reads of tasks that the last predecessor of `by` waits for. Without
// dropReads, a program that repeatedly writes parts of a tensor and then reads all of it
// would accumulate reads without bound. dropReads searches only if the last predecessor of
// `by` is not older than the task of the previous search.
func (a access) dropReads(by ID, predecessors [][]ID) {
	if len(predecessors[by]) == 0 {
		return
	}
	last := predecessors[by][len(predecessors[by])-1]
	if last < a.lastSweep {
		return
	}
	a.lastSweep = by
	a.read.forOverlapping(a.box, func(e *entry) {
		if a.covers(&e.box) {
			_, e.obsolete = slices.BinarySearch(predecessors[last], e.task)
		}
	})
}

// boxIndex is an index of very many boxes. It finds the boxes that overlap a given box. It
// stores boxes of similar size in one grid, whose pitch is the extents of the boxes rounded
// up to powers of two. So a box is in few cells, and a query visits only the cells that its
// own box overlaps.
type boxIndex struct {
	entries []entry
	grids   []grid
	query   int32 // number of the current query
}

// entry is a box and the task that accessed it.
type entry struct {
	task      ID
	obsolete  bool  // no later task needs to wait for this access
	lastQuery int32 // the last query that visited the entry
	box
}

// grid holds the boxes of about one size.
type grid struct {
	pitch [oplog.MaxRank]uint8             // base-2 logarithm of the pitch along each axis
	cells map[[oplog.MaxRank]int32][]int32 // by coordinates of the cell: indices of entries
	all   []int32                          // indices of all entries of the grid
}

// add adds entry e to the grid for boxes of its size, and creates this grid if necessary.
func (c *boxIndex) add(e entry) {
	var pitch [oplog.MaxRank]uint8
	for axis := range pitch {
		pitch[axis] = uint8(bits.Len32(uint32(e.to[axis] - e.from[axis] - 1)))
	}
	i := slices.IndexFunc(c.grids, func(g grid) bool { return g.pitch == pitch })
	if i < 0 {
		i = len(c.grids)
		c.grids = append(c.grids, grid{pitch: pitch, cells: map[[oplog.MaxRank]int32][]int32{}})
	}
	g, n := &c.grids[i], int32(len(c.entries))
	e.lastQuery = c.query
	c.entries = append(c.entries, e)
	g.all = append(g.all, n)
	g.forCells(&e.box, func(at [oplog.MaxRank]int32) { g.cells[at] = append(g.cells[at], n) })
}

// forOverlapping calls f with every entry that overlaps box b and is not obsolete.
func (c *boxIndex) forOverlapping(b *box, f func(*entry)) {
	c.query++
	for i := range c.grids {
		g := &c.grids[i]
		if g.countCells(b) >= len(g.all) {
			g.all = c.visit(g.all, b, f)
			continue
		}
		g.forCells(b, func(at [oplog.MaxRank]int32) {
			if list, ok := g.cells[at]; ok {
				g.cells[at] = c.visit(list, b, f)
			}
		})
	}
}

// visit calls f with the entries of a list that overlap box b. An entry that the current
// query has visited is skipped. visit returns the list without obsolete entries.
func (c *boxIndex) visit(list []int32, b *box, f func(*entry)) []int32 {
	kept := list[:0]
	for _, n := range list {
		e := &c.entries[n]
		if !e.obsolete && e.lastQuery != c.query && e.overlaps(b) {
			e.lastQuery = c.query
			f(e)
		}
		if !e.obsolete {
			kept = append(kept, n)
		}
	}
	return kept
}

// countCells returns the number of cells of the grid that box b overlaps. It stops counting
// when the number reaches the number of entries of the grid.
func (g *grid) countCells(b *box) int {
	n := 1
	for axis, p := range g.pitch {
		n *= int((b.to[axis]-1)>>p-b.from[axis]>>p) + 1
		if n >= len(g.all) {
			return n
		}
	}
	return n
}

// forCells calls f with the coordinates of each cell of the grid that box b overlaps.
func (g *grid) forCells(b *box, f func(at [oplog.MaxRank]int32)) {
	var first, last, at [oplog.MaxRank]int32
	for axis, p := range g.pitch {
		first[axis], last[axis] = b.from[axis]>>p, (b.to[axis]-1)>>p
	}
	for at = first; ; {
		f(at)
		axis := len(at) - 1
		for ; axis >= 0; axis-- {
			if at[axis]++; at[axis] <= last[axis] {
				break
			}
			at[axis] = first[axis]
		}
		if axis < 0 {
			return
		}
	}
}
