package task

import (
	"math/bits"
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// Dependencies is, for each task, the earlier tasks of its rank that it waits for, in order,
// each once: those of its explicit edges and, if they are inferred as well, those whose
// regions overlap its own where one side writes. Conflicts that follow from others by way
// of a task in between that has overwritten all of a region are not listed again.
func (p *Program) Dependencies(inferred bool) [][]ID {
	d := newDependencies(inferred)
	d.extend(p)
	return d.before
}

// dependencies finds what the tasks of a program wait for at their own rank, also while
// the program grows.
type dependencies struct {
	inferred bool
	conflicts
}

func newDependencies(inferred bool) dependencies {
	return dependencies{inferred, conflicts{maps: map[*Tensor]*tensorMap{}}}
}

// extend finds the dependencies of the tasks that the program has more than before.
func (d *dependencies) extend(p *Program) {
	d.before = slices.Grow(d.before, len(p.Tasks)-len(d.before))
	for i := len(d.before); i < len(p.Tasks); i++ {
		t := &p.Tasks[i]
		switch {
		case p.by != nil && p.by.single && d.inferred: // conflicts were found when it was submitted
			found := slices.Concat(t.After, t.found)
			slices.Sort(found)
			d.before = append(d.before, found)
		case d.inferred:
			d.add(t.After, t.Args)
		default:
			d.add(t.After, nil)
		}
	}
}

// conflicts finds the earlier tasks that each task waits for.
type conflicts struct {
	before [][]ID // by task
	maps   map[*Tensor]*tensorMap
	now    []access // of the task that is added
}

// access is what a task does with a box of a tensor.
type access struct {
	*tensorMap
	*box
	writes bool
}

// add adds the next task, and returns those that it waits for, in order and each once: the
// ones that it has explicit edges from, and the ones that its arguments conflict with.
func (c *conflicts) add(after []ID, args []Arg) []ID {
	c.now = c.now[:0]
	for i := range args {
		if r, does := args[i].touched(); does != 0 && !r.empty() {
			if c.maps[r.Tensor] == nil {
				c.maps[r.Tensor] = &tensorMap{}
			}
			c.now = append(c.now, access{c.maps[r.Tensor], &r.box, does&Writes != 0})
		}
	}
	found := slices.Clone(after)
	for _, a := range c.now {
		found = a.conflicts(found)
	}
	slices.Sort(found)
	found = slices.Clip(slices.Compact(found))
	c.before = append(c.before, found)
	for _, a := range c.now { // not before: a task does not wait for itself
		a.add(ID(len(c.before)-1), c.before)
	}
	return found
}

// tensorMap is who has read and written which parts of a tensor, as far as it matters to
// those who come.
type tensorMap struct {
	read, written cells
	swept         ID // the last task that looked for reads that its own stands for
}

// conflicts appends the tasks that an access conflicts with.
func (a access) conflicts(to []ID) []ID {
	note := func(e *entry) { to = append(to, e.task) }
	a.written.overlapping(a.box, note)
	if a.writes {
		a.read.overlapping(a.box, note)
	}
	return to
}

// add notes the access as that of a task, given what all so far wait for. What a write covers is
// over for all who come: they conflict with the write as well, which comes after it.
func (a access) add(by ID, before [][]ID) {
	if !a.writes {
		a.sweep(by, before)
		a.read.add(entry{task: by, box: *a.box})
		return
	}
	hide := func(e *entry) { e.over = e.task != by && a.covers(&e.box) }
	a.written.overlapping(a.box, hide)
	a.read.overlapping(a.box, hide)
	a.written.add(entry{task: by, box: *a.box})
}

// sweep drops the reads that a read covers and that are known to come before it, since the
// last task that it waits for waits for them: else whoever reads all of a tensor between
// writes of its parts would wait there for ever. It looks only where that task is new.
func (a access) sweep(by ID, before [][]ID) {
	if len(before[by]) == 0 {
		return
	}
	last := before[by][len(before[by])-1]
	if last < a.swept {
		return
	}
	a.swept = by
	a.read.overlapping(a.box, func(e *entry) {
		if a.covers(&e.box) {
			_, e.over = slices.BinarySearch(before[last], e.task)
		}
	})
}

// cells finds boxes that overlap another among very many. A box is filed by its extents,
// rounded up to powers of two, on a grid of that pitch: it lies in few cells, and whoever
// looks for it looks at the cells that its own box touches.
type cells struct {
	entries []entry
	grids   []grid
	look    int32
}

// entry is a box and whose it is.
type entry struct {
	task ID
	over bool
	seen int32 // the last look that came by
	box
}

// grid is the boxes of about one size.
type grid struct {
	pitch [oplog.MaxRank]uint8 // logarithm, along each axis
	cells map[[oplog.MaxRank]int32][]int32
	all   []int32
}

func (c *cells) add(e entry) {
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
	e.seen = c.look
	c.entries = append(c.entries, e)
	g.all = append(g.all, n)
	g.each(&e.box, func(at [oplog.MaxRank]int32) { g.cells[at] = append(g.cells[at], n) })
}

// overlapping calls f with every entry that overlaps a box and is not over.
func (c *cells) overlapping(b *box, f func(*entry)) {
	c.look++
	for i := range c.grids {
		g := &c.grids[i]
		if g.span(b) >= len(g.all) {
			g.all = c.visit(g.all, b, f)
			continue
		}
		g.each(b, func(at [oplog.MaxRank]int32) {
			if list, ok := g.cells[at]; ok {
				g.cells[at] = c.visit(list, b, f)
			}
		})
	}
}

// visit calls f for those of a list, each once a look, and is the list without those
// that are over.
func (c *cells) visit(list []int32, b *box, f func(*entry)) []int32 {
	kept := list[:0]
	for _, n := range list {
		e := &c.entries[n]
		if !e.over && e.seen != c.look && e.overlaps(b) {
			e.seen = c.look
			f(e)
		}
		if !e.over {
			kept = append(kept, n)
		}
	}
	return kept
}

// span returns how many cells a box touches.
func (g *grid) span(b *box) int {
	n := 1
	for axis, p := range g.pitch {
		n *= int((b.to[axis]-1)>>p-b.from[axis]>>p) + 1
		if n >= len(g.all) {
			return n
		}
	}
	return n
}

// each calls f for the cells that a box touches.
func (g *grid) each(b *box, f func(at [oplog.MaxRank]int32)) {
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
