package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/shm"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// ranksProgram is a random program of several ranks. Its tasks access the memory of other
// ranks, and its orchestration reads values. The first arrays belong to the host, the
// others to domains, so that only some ranks have a part of them.
type ranksProgram struct {
	ranks      int
	single     bool    // one orchestration for all ranks
	length     int     // elements of each array
	hosts      int     // number of arrays of the host; the last ones receive copies of the domains' arrays
	members    [][]int // by domain: the ranks
	largest    int     // members of the largest group
	operations []operation
}

// operation is a task of a ranksProgram, optionally followed by reads of a value. Later
// operations may depend on that value.
type operation struct {
	kind      int // one of the constants below
	rank      int // the rank that runs the task
	peer      int
	x, y, z   int // arrays
	from, n   int // the region: n elements of each array
	c         int
	members   int
	onlyIfOdd bool // run the operation only if the last value is odd
	reads     int  // how often to read element "from" of x after the task
	readsOld  bool // read that element from the task that wrote it last
	scope     bool // this and the next two operations form a scope
}

// The kinds of operations, with what they compute.
const (
	fills              = iota // x = c
	affines                   // x = 3 x + c
	mixes                     // z = x - 2 y + c
	circulates                // x = x + c + the sum of x, which members compute by messages
	gives                     // the peer's x = x
	takes                     // x = 3 x + the peer's x
	forwards                  // x = 3 x + the peer's x, which members pass on by messages
	reduces                   // z = (the peer's x + x) - c, by a composite
	signals                   // x = 3 x + c, and a signal to the peer
	copies                    // z = x
	circulatesOnSignal        // circulates after a signal has arrived
)

// give puts region x of this rank into the same region of the given peer. `there` points to
// the region at the peer.
func give(t *tl.PE, x, there tl.Ptr, peer int) {
	forRows(t, x, func(first int, s tl.Shape) { t.Put(peer, there.At(first), t.Load(x.At(first), s, tl.I32)) })
}

// take computes x = 3 x + y, where y is the same region of the given peer. `there` points
// to y.
func take(t *tl.PE, x, there tl.Ptr, peer int) {
	forRows(t, x, func(first int, s tl.Shape) {
		t.Store(x.At(first), t.Load(x.At(first), s, tl.I32).Mul(3).Add(t.Get(peer, there.At(first), s, tl.I32)))
	})
}

// circulate adds c and the sum of x to each element of x. Members are connected in a ring
// and pass their sums around. If `heard` is not 0, the last member first waits until signal
// 0 is at least `heard`.
func circulate(t *tl.PE, x tl.Ptr, c, heard int) {
	me, all, one := t.ProgramID(0), t.NumPrograms(0), tl.Shape{1}
	if me == all-1 && heard > 0 {
		t.WaitSignal(0, tl.GE, heard)
	}
	v := t.Zeros(one, tl.I32)
	forRows(t, x, func(first int, s tl.Shape) { v = t.Load(x.At(first), s, tl.I32).Sum(0).Reshape(1) })
	sum := v
	for range all - 1 {
		t.Send(tl.East, v)
		v = t.Recv(tl.West, one, tl.I32)
		sum = sum.Add(v)
	}
	forRows(t, x, func(first int, s tl.Shape) {
		t.Store(x.At(first), t.Load(x.At(first), s, tl.I32).Add(sum).Add(c))
	})
}

// forward computes x = 3 x + y. The operand y is the same region at the given peer; `there`
// points to it. The members form a line: the first gets y from the peer, and each member
// sends y to the next.
func forward(t *tl.PE, x, there tl.Ptr, peer int) {
	all := tl.Shape{x.Dim(0)}
	if all[0] == 0 {
		return
	}
	box := t.Scratch(all, tl.I32)
	if t.ProgramID(0) == 0 {
		t.Store(box, t.Get(peer, there, all, tl.I32))
	} else {
		t.RecvInto(tl.West, box, all, tl.I32)
	}
	if t.ProgramID(0) < t.NumPrograms(0)-1 {
		t.Send(tl.East, t.Ref(box, all, tl.I32))
	}
	forRows(t, x, func(first int, s tl.Shape) {
		t.Store(x.At(first), t.Load(x.At(first), s, tl.I32).Mul(3).Add(t.Load(box.At(first), s, tl.I32)))
	})
}

// reduce computes z = (y + x) - c, where y is the region of the given peer that corresponds
// to x. `there` points to y.
func reduce(t *tl.PE, x, there, z tl.Ptr, peer, c int) {
	forRows(t, x, func(first int, s tl.Shape) {
		t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, z.At(first), x.At(first), s, tl.I32, peer, t.Rank()), tl.Do(tl.OpSub, c)))
	})
}

// signal computes x = 3 x + c. The first member of the task also notifies the given peer.
func signal(t *tl.PE, x tl.Ptr, peer, c int) {
	affine(t, x, c)
	if t.ProgramID(0) == 0 {
		t.Notify(peer, 0, tl.Add, 1)
	}
}

// drawRanksProgram draws a random program with the given number of operations. After each
// operation that notifies a peer, it adds one more: an operation of the peer that waits for
// the signal.
func drawRanksProgram(r *rand.Rand, operations int) *ranksProgram {
	p := &ranksProgram{ranks: drawInt(r, 1, 4), single: r.IntN(3) > 0, length: drawInt(r, 1, 12), hosts: 2, largest: drawInt(r, 1, 3)}
	for range drawInt(r, 0, 3) {
		p.members = append(p.members, r.Perm(p.ranks)[:drawInt(r, 1, p.ranks)])
	}
	p.hosts += len(p.members)
	for range operations {
		a := operation{kind: r.IntN(copies), rank: r.IntN(p.ranks), c: drawInt(r, -9, 9), members: drawInt(r, 1, p.largest), onlyIfOdd: r.IntN(4) == 0}
		a.n = drawInt(r, 0, p.length)
		a.from = drawInt(r, 0, p.length-a.n)
		own := p.arraysOf(a.rank)
		a.x, a.y, a.z = own[r.IntN(len(own))], own[r.IntN(len(own))], own[r.IntN(len(own))]
		who := p.holders(a.x)
		a.peer = who[r.IntN(len(who))]
		if a.kind >= gives && (!p.single || a.peer == a.rank) {
			a.kind = r.IntN(gives) // only edges between ranks order such operations
		}
		if a.kind == mixes && (a.z == a.x || a.z == a.y) {
			a.members = 1
		}
		if a.kind == reduces && a.z == a.x {
			a.z = 1 - min(a.x, 1) // one of the first two arrays, other than x
		}
		if r.IntN(5) == 0 {
			a.kind, a.reads, a.n, a.from, a.members = affines, drawInt(r, 1, 2), 1, r.IntN(p.length), 1
		}
		a.readsOld, a.scope = r.IntN(8) == 0 && a.from < p.length, r.IntN(8) == 0
		p.operations = append(p.operations, a)
		if a.kind == signals {
			b := operation{kind: circulatesOnSignal, rank: a.peer, peer: a.peer, x: a.x, y: a.x, z: a.x, from: a.from, n: a.n, c: a.c, members: drawInt(r, 1, p.largest), onlyIfOdd: a.onlyIfOdd}
			p.operations[len(p.operations)-1].readsOld = false // the same value must decide whether both operations run
			p.operations = append(p.operations, b)
		}
	}
	return p
}

// arraysOf returns the arrays of which a rank has a part. It leaves out the host's copies
// of the arrays of domains.
func (p *ranksProgram) arraysOf(rank int) []int {
	list := []int{0, 1}
	for d, members := range p.members {
		if slices.Contains(members, rank) {
			list = append(list, p.hosts+d)
		}
	}
	return list
}

// holders returns the ranks that have a part of an array.
func (p *ranksProgram) holders(array int) (list []int) {
	if array >= p.hosts {
		return p.members[array-p.hosts]
	}
	for rank := range p.ranks {
		list = append(list, rank)
	}
	return list
}

// interpreter computes the values of a ranksProgram in plain Go, in the order of
// submission. With a builder it also submits the tasks.
type interpreter struct {
	*ranksProgram
	memory      [][][]int32          // by array, rank and element: the value
	history     [][][]elementHistory // by array, rank and element: the accesses
	lastOdd     bool                 // the last value that was read is odd
	signalsSent []int                // by rank: number of signals sent to it

	t          tester
	b          *Builder // nil to compute only the values
	x          func(rank, array int) *Tensor
	explicit   bool // submit edges for all conflicts, else only for those that no runtime infers
	namesPeers bool // tasks declare the regions of other ranks that they access; then runtimes infer all conflicts
	values     int  // number of values read so far
}

// elementHistory is the accesses of an element that a later access may conflict with.
type elementHistory struct {
	writer  elementAccess
	readers []elementAccess
}

// elementAccess is an access of one task to an element. remote is set if the task used Put
// or Get.
type elementAccess struct {
	id     ID
	remote bool
}

// initial returns the value that element i of a rank's part of an array has before the
// program runs.
func initial(array, rank, i int) int32 {
	if array > 1 {
		return 0
	}
	return int32(100*array + 10*rank + i)
}

func (p *ranksProgram) interpreter() *interpreter {
	s := &interpreter{ranksProgram: p, signalsSent: make([]int, p.ranks)}
	for array := range p.hosts + len(p.members) {
		s.memory, s.history = append(s.memory, make([][]int32, p.ranks)), append(s.history, make([][]elementHistory, p.ranks))
		for rank := range p.ranks {
			s.history[array][rank] = make([]elementHistory, p.length)
			for i := range p.length {
				s.memory[array][rank] = append(s.memory[array][rank], initial(array, rank, i))
				s.history[array][rank][i].writer.id = -1
			}
		}
	}
	return s
}

// recordAccess records that task id accesses n elements of a rank's part of an array, from
// index `from` on. If task id needs an explicit edge from an earlier task, recordAccess
// appends the earlier task to the list `edges`. It returns the list.
func (s *interpreter) recordAccess(edges []ID, id ID, array, rank, from, n int, writes, remote bool) []ID {
	needs := func(t elementAccess) {
		if t.id >= 0 && t.id != id && (s.explicit || !s.namesPeers && (t.remote || remote)) {
			edges = append(edges, t.id)
		}
	}
	for i := from; i < from+n; i++ {
		e := &s.history[array][rank][i]
		needs(e.writer)
		if !writes {
			e.readers = append(e.readers, elementAccess{id, remote})
			continue
		}
		for _, r := range e.readers {
			needs(r)
		}
		*e = elementHistory{writer: elementAccess{id, remote}}
	}
	return edges
}

// run runs the operations of the given rank, or, for rank -1, of all ranks. Then it copies
// the arrays of domains to arrays of the host, which still exist after the run.
func (s *interpreter) run(rank int) {
	next := ID(0)
	for i := 0; i < len(s.operations); i++ {
		if s.operations[i].rank != rank && rank >= 0 {
			continue
		}
		if end := min(i+3, len(s.operations)); s.operations[i].scope && s.b != nil {
			s.b.Scope("three", func() {
				for ; i < end; i++ {
					if s.operations[i].rank == rank || rank < 0 {
						s.runOperation(&s.operations[i], &next)
					}
				}
			})
			i--
			continue
		}
		s.runOperation(&s.operations[i], &next)
	}
	for d, members := range s.members {
		for _, at := range members {
			if at == rank || rank < 0 {
				s.submit(&next, &operation{kind: copies, rank: at, x: s.hosts + d, z: 2 + d, n: s.length, members: 1})
			}
		}
	}
}

// runOperation runs operation a. It skips the operation if a.onlyIfOdd is set and the last
// value that was read is even. It also reads the values that the operation asks for. *next
// is the ID of the next task.
func (s *interpreter) runOperation(a *operation, next *ID) {
	if a.onlyIfOdd && !s.lastOdd {
		return
	}
	id := s.submit(next, a)
	if a.readsOld { // from the last task that wrote the element, if it wrote it at its own rank
		if w := s.history[a.x][a.rank][a.from].writer; w.id >= 0 && !w.remote {
			s.readValue(a, w.id)
		}
	}
	for range a.reads {
		s.readValue(a, id)
	}
}

// readValue reads the value that task id gave to element a.from of the operation's array x.
// With a builder, it checks that the builder returns the same value.
func (s *interpreter) readValue(a *operation, id ID) {
	v := s.memory[a.x][a.rank][a.from]
	if s.b != nil {
		if got := s.b.Value(id, s.x(a.rank, a.x), a.from); got != float64(v) {
			s.t.Errorf("the value of task %d is %v, want %v", id, got, v)
		}
	}
	s.lastOdd = v%2 != 0
	s.values++
}

// submit computes the result of the operation's task in plain Go and, with a builder,
// submits the task. It returns the ID of the task, which is *next, and increments *next.
func (s *interpreter) submit(next *ID, a *operation) ID {
	id := *next
	*next++
	c := a.c
	if s.lastOdd {
		c++ // so that results depend on the values read
	}
	var edges []ID
	sum := int32(0)
	for _, v := range s.memory[a.x][a.rank][a.from : a.from+a.n] {
		sum += v
	}
	for i := a.from; i < a.from+a.n; i++ {
		x, y, z := &s.memory[a.x][a.rank][i], &s.memory[a.y][a.rank][i], &s.memory[a.z][a.rank][i]
		switch there := &s.memory[a.x][a.peer][i]; a.kind {
		case fills:
			*x = int32(c)
		case affines, signals:
			*x = 3**x + int32(c)
		case circulates, circulatesOnSignal:
			*x += sum + int32(c)
		case mixes:
			*z = *x - 2**y + int32(c)
		case gives:
			*there = *x
		case takes, forwards:
			*x = 3**x + *there
		case reduces:
			*z = *there + *x - int32(c)
		case copies:
			*z = *x
		}
	}
	own := func(array int, writes bool) {
		edges = s.recordAccess(edges, id, array, a.rank, a.from, a.n, writes, false)
	}
	peer := func(writes bool) { edges = s.recordAccess(edges, id, a.x, a.peer, a.from, a.n, writes, true) }
	region := func(array int) Region { return s.x(a.rank, array).Box([]int{a.from}, []int{a.n}) }
	reach := Gets
	if s.explicit && !s.namesPeers {
		reach = AtPeers
	}
	there := func() Region {
		if s.namesPeers {
			return s.x(a.peer, a.x).Box([]int{a.from}, []int{a.n})
		}
		return region(a.x)
	}
	var kernel any
	var table func(members ...int) []torch.Connection
	var args func() Args
	switch a.kind {
	case fills:
		own(a.x, true)
		kernel, args = fill, func() Args { return Args{Out("x", region(a.x)), Scalar("c", c)} }
	case affines:
		own(a.x, true)
		kernel, args = affine, func() Args { return Args{InOut("x", region(a.x)), Scalar("c", c)} }
	case signals:
		own(a.x, true)
		s.signalsSent[a.peer]++
		kernel, args = signal, func() Args {
			return Args{InOut("x", region(a.x)), Scalar("peer", a.peer), Scalar("c", c)}
		}
	case circulates, circulatesOnSignal:
		own(a.x, true)
		heard := 0
		if a.kind == circulatesOnSignal {
			heard = s.signalsSent[a.rank]
		}
		table = torch.Ring
		kernel, args = circulate, func() Args {
			return Args{InOut("x", region(a.x)), Scalar("c", c), Scalar("heard", heard)}
		}
	case reduces:
		own(a.x, false)
		peer(false)
		own(a.z, true)
		kernel, args = reduce, func() Args {
			return Args{In("x", region(a.x)), reach("there", there()), Out("z", region(a.z)), Scalar("peer", a.peer), Scalar("c", c)}
		}
	case mixes:
		own(a.x, false)
		own(a.y, false)
		own(a.z, true)
		kernel, args = mix, func() Args {
			return Args{In("x", region(a.x)), In("y", region(a.y)), Out("z", region(a.z)), Scalar("c", c)}
		}
	case gives:
		own(a.x, false)
		peer(true)
		kernel, args = give, func() Args {
			return Args{In("x", region(a.x)), Puts("there", there()), Scalar("peer", a.peer)}
		}
	case takes, forwards:
		peer(false)
		own(a.x, true)
		if kernel = take; a.kind == forwards {
			kernel, table = forward, torch.Line
		}
		args = func() Args {
			return Args{InOut("x", region(a.x)), reach("there", there()), Scalar("peer", a.peer)}
		}
	case copies:
		own(a.x, false)
		own(a.z, true)
		kernel, args = publish, func() Args { return Args{In("x", region(a.x)), Out("z", region(a.z))} }
	}
	if s.b != nil {
		options := []Option{After(edges...), Group(a.members)}
		if table != nil {
			options[1] = Group(a.members, table)
		}
		if s.single {
			options = append(options, OnRank(a.rank))
		}
		if got := s.b.Submit(fmt.Sprint("kind", a.kind), kernel, args(), options...); got != id {
			s.t.Errorf("Submit returns %d, want %d", got, id)
		}
	}
	return id
}

// job returns the program as a job. If `explicit` is set, tasks have edges for all
// conflicts; if not, only for conflicts that no runtime infers. If `namesPeers` is set,
// tasks declare the regions of other ranks that they access, so that runtimes infer all
// conflicts.
func (p *ranksProgram) job(t tester, explicit, namesPeers bool) *job {
	j := &job{ranks: p.ranks}
	for array := range p.hosts {
		j.arrays = append(j.arrays, initialArray(p.length, array))
	}
	on := func(b *Builder, hosts func(rank, array int) *Tensor) *interpreter {
		s := p.interpreter()
		s.t, s.b, s.explicit, s.namesPeers = t, b, explicit, namesPeers
		domains := make([]map[int]*Tensor, len(p.members))
		for i, members := range p.members {
			d := b.Domain(fmt.Sprint("domain", i), members...)
			domains[i] = map[int]*Tensor{}
			if p.single {
				for member, x := range d.Tensors("x", tl.I32, tl.Shape{p.length}) {
					domains[i][d.World(member)] = x
				}
			} else if d.Rank() >= 0 {
				domains[i][b.Rank()] = d.Tensor("x", tl.I32, tl.Shape{p.length})
			}
		}
		s.x = func(rank, array int) *Tensor {
			if array >= p.hosts {
				return domains[array-p.hosts][rank]
			}
			return hosts(rank, array)
		}
		return s
	}
	if p.single {
		j.submitAll = func(b *Builder, x [][]*Tensor) {
			on(b, func(rank, array int) *Tensor { return x[rank][array] }).run(-1)
		}
	} else {
		j.submit = func(b *Builder, x []*Tensor) {
			on(b, func(_, array int) *Tensor { return x[array] }).run(b.Rank())
		}
	}
	return j
}

func initialArray(length, number int) array {
	return array{shape: tl.Shape{length}, init: func(rank, i int) int32 { return initial(number, rank, i) }}
}

// expected returns the values that the arrays of the host must have at the end, and the
// number of values that the orchestration reads.
func (p *ranksProgram) expected() (contents, int) {
	if p.single {
		s := p.interpreter()
		s.run(-1)
		return s.memory[:p.hosts], s.values
	}
	var all contents
	values := 0
	for rank := range p.ranks {
		s := p.interpreter()
		s.run(rank)
		if values += s.values; rank == 0 {
			all = s.memory[:p.hosts]
			continue
		}
		for array := range all {
			all[array][rank] = s.memory[array][rank]
		}
	}
	return all, values
}

// TestRanksProgramsOnSharedMemory checks that random programs of several ranks compute the
// expected values on real ranks that share memory.
func TestRanksProgramsOnSharedMemory(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := drawRanksProgram(r, 30)
		want, _ := p.expected()
		o := Options{Runtime: Runtimes[r.IntN(len(Runtimes))], Config: drawConfig(r, &Program{}, 3), Signals: 1}
		o.Config.Host.Tasks, o.Config.TensorMap.Slots = 1000, 3
		got, errs := p.job(t, true, false).runRealOn(shm.Name, o)
		commtest.Succeed(t, errs)
		got.checkEqual(t, fmt.Sprintf("seed %d under %s", seed, o.Runtime), want)
	}
}

// TestRanksPrograms checks random programs with edges between ranks, domains, and tasks
// that depend on values. A program must compute the same values as if its tasks ran one by
// one. The test runs each program under all runtimes, on the simulated machine and on real
// ranks.
func TestRanksPrograms(t *testing.T) {
	programs, values, messages := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		operations := drawInt(r, 1, 24) // rapid would draw small numbers
		p := drawRanksProgram(r, operations)
		programs++
		want, asked := p.expected()
		values += asked
		for _, explicit := range []bool{false, true} {
			j := p.job(t, explicit, r.IntN(2) == 0)
			c := drawConfig(r, &Program{}, drawInt(r, max(2, p.largest), 5))
			c.Host.Tasks, c.TensorMap.Slots = 1000, drawInt(r, 3, 9)
			for _, runtime := range Runtimes {
				if !explicit && !runtime.infers() {
					continue
				}
				o := Options{Runtime: runtime, Config: c, Signals: 1}
				what := fmt.Sprintf("%d operations under %s, explicit edges %v", operations, runtime, explicit)
				out := j.mustRunSimulated(t, o, torch.Options{KeepLog: true, Race: true, Threads: 1})
				out.checkEqual(t, what, want)
				if len(out.races) > 0 {
					t.Errorf("%s: races %q", what, out.races)
				}
				for _, w := range out.Control {
					if w.Kind == Posting {
						messages++
					}
				}
				if r.IntN(4) > 0 {
					continue
				}
				got, errs := j.runReal(o)
				for rank, err := range errs {
					if err != nil {
						t.Fatalf("%s, real rank %d: %v", what, rank, err)
					}
				}
				got.checkEqual(t, what+", on real ranks", want)
			}
		}
	})
	if values < programs || messages < 5*programs {
		t.Errorf("%d values and %d messages in %d programs: too few for a meaningful test", values, messages, programs)
	}
}
