package fabric

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// load is the traffic of a stress test. If after[i] is not negative, flow i starts the time
// flows[i].at after the end of flow after[i]. Otherwise it starts at the time flows[i].at.
type load struct {
	net    hops
	parted bool // over two partitions, see parted
	cfg    Config
	flows  []flow
	after  []int
}

// mix describes the kind of traffic to draw.
type mix struct {
	name        string
	flits       []Bytes // sizes of a flit and of a burst
	channels    []int
	slices      int     // HBM slices that the flows share
	read, write float64 // share of flows that read from, or write to, HBM
	comm        float64 // share of flows of class Comm
	queued      float64 // share of flows that belong to one of two queues
	chained     float64 // share of flows that wait for another flow
	odd         bool    // links without latency or serialization, turnaround, messages of 0 and 1 B
	window      Time    // flows that wait for no other flow start before this time
	worst, mean float64 // largest and mean error of a makespan, relative to the Flit model
}

var mixes = []mix{
	{name: "links", comm: 0.5, window: 5000 * ns, worst: 0.02, mean: 0.001},
	{name: "dense links", comm: 0.5, window: 200 * ns, worst: 0.06, mean: 0.002},
	{name: "chained links", comm: 0.5, chained: 0.6, window: 500 * ns, worst: 0.25, mean: 0.004},
	{name: "queues", comm: 0.5, queued: 0.8, window: 2000 * ns, worst: 0.05, mean: 0.002},
	{name: "reads", slices: 2, read: 1, comm: 0.5, window: 5000 * ns, worst: 0.02, mean: 0.0005},
	{name: "writes", slices: 2, write: 1, comm: 0.5, window: 5000 * ns, worst: 0.05, mean: 0.001},
	{name: "hot slice", slices: 1, read: 0.5, write: 0.5, comm: 0.5, window: 2000 * ns, worst: 0.05, mean: 0.002},
	{
		name: "odd", flits: []Bytes{16, 64, 256, 1024, 4096, 8192, 65536}, channels: []int{1, 2, 8, 64}, slices: 2,
		read: 0.4, write: 0.4, comm: 0.5, chained: 0.3, odd: true, window: 2000 * ns, worst: 1, mean: 0.02,
	},
}

const stressSeeds = 60

// draw draws random traffic over a line of nodes with links in both directions. Paths share
// links at their start, in the middle and at the end.
func (x mix) draw(seed uint64) load {
	r := rand.New(rand.NewPCG(seed, 1))
	one := func(p float64) bool { return r.Float64() < p }
	l := load{cfg: Config{Flit: flitSize, HBM: hbm8}}
	if x.flits != nil {
		l.cfg.Flit = x.flits[r.IntN(len(x.flits))]
		l.cfg.HBM.Burst = l.cfg.Flit
		l.cfg.HBM.Channels = x.channels[r.IntN(len(x.channels))]
	}
	if x.odd && one(0.5) {
		l.cfg.HBM.Turnaround = Time(r.Int64N(10)) * ns
	}
	nodes := 3 + r.IntN(4)
	for range 2 * (nodes - 1) { // link 2a goes from a to a+1, link 2a+1 back
		hop := Hop{[]topology.BytesPerSec{32, 64, 100, 128, 256}[r.IntN(5)] * topology.GBps, Time(r.Int64N(50)) * ns}
		if x.odd && one(0.2) {
			hop.Bandwidth = topology.Unlimited
		}
		if x.odd && one(0.3) {
			hop.Latency = 0
		}
		l.net = append(l.net, hop)
	}
	for i := range 2 + r.IntN(19) {
		f := flow{at: Time(r.Int64N(int64(x.window)))}
		if one(0.2) {
			f.at = 0
		}
		after := -1
		if i > 0 && one(x.chained) {
			after = r.IntN(i)
		}
		for a, b := r.IntN(nodes), r.IntN(nodes-1); len(f.Path) == 0; {
			if b >= a {
				b++
			}
			for ; a < b; a++ {
				f.Path = append(f.Path, topology.LinkID(2*a))
			}
			for ; a > b; a-- {
				f.Path = append(f.Path, topology.LinkID(2*a-1))
			}
		}
		f.Bytes = Bytes(1) << r.IntN(18)
		f.Bytes += Bytes(r.Int64N(int64(f.Bytes)))
		if !one(x.comm) {
			f.Class = Compute
		}
		bank := func() Bank {
			return Bank{SliceID(1 + r.IntN(x.slices)), memory.Contiguous(memory.Addr(i)<<30+memory.Addr(r.Int64N(1<<16)), f.Bytes)}
		}
		if x.queued > 0 && one(x.queued) { // messages of a queue take the same path
			f.Queue = 1 + int32(r.IntN(2))
			for _, o := range l.flows {
				if o.Queue == f.Queue {
					f.Path, f.Class = o.Path, o.Class
				}
			}
		}
		read := one(x.read)
		if x.odd && !read && one(0.1) {
			f.Bytes = Bytes(r.IntN(2))
		}
		if read {
			f.Read = bank()
		}
		if one(x.write) {
			f.Write = bank()
			if f.Write.Slice == f.Read.Slice { // a transfer within one slice would compete with itself
				f.Read = Bank{}
			}
		}
		l.flows, l.after = append(l.flows, f), append(l.after, after)
	}
	return l
}

// stress is a fabric that runs a load.
type stress struct {
	*Fabric
	eng         *sim.Engine
	target      sim.Target
	load        load
	start, done []Time
	ended       []int
	left        []Time // when the last byte of each flow has left its Border; -1 before, or if it has none
}

func (s *stress) Handle(kind sim.Kind, arg uint64) {
	if kind == worldStart {
		s.start[arg] = s.eng.Now()
		f := s.load.flows[arg].Transfer
		f.Done = sim.Event{Target: s.target, Kind: worldDone, Arg: arg}
		f.Left = sim.Event{Target: s.target, Kind: worldLeft, Arg: arg}
		s.left[arg] = -1
		s.Send(&f)
		return
	}
	if kind == worldLeft {
		if s.left[arg] >= 0 || s.load.flows[arg].Border == 0 {
			panic("a second Left event, or one of a flow without a border")
		}
		s.left[arg] = s.eng.Now()
		return
	}
	s.done[arg] = s.eng.Now()
	s.ended[arg]++
	s.begin(int(arg))
}

// begin schedules the flows that start after the end of flow i. If i is -1, it schedules
// the flows that start independently of other flows.
func (s *stress) begin(i int) {
	for j, f := range s.load.flows {
		if s.load.after[j] == i {
			s.eng.At(s.eng.Now()+f.at, s.target, worldStart, uint64(j))
		}
	}
}

// simulate runs the load in the given fidelity. It checks that every message ended once and
// that the fabric holds no state of a message afterwards.
func (l load) simulate(t tester, fid Fidelity) *stress {
	t.Helper()
	l.cfg.Fidelity = fid
	n := len(l.flows)
	s := &stress{eng: sim.New(), load: l, start: make([]Time, n), done: make([]Time, n), left: make([]Time, n), ended: make([]int, n)}
	var net Network = l.net
	if l.parted {
		s.eng.Partition(2, 1, nil, 1)
		net = parted{l.net}
	}
	s.Fabric = New(s.eng, net, l.cfg)
	s.target = s.eng.Register(s)
	s.begin(-1)
	s.drain(t)
	return s
}

// drain runs the fabric until it is idle and checks that every message ended once and left
// no state.
func (s *stress) drain(t tester) {
	t.Helper()
	if err := s.eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	fid := s.cfg.Fidelity
	for i, n := range s.ended {
		if n != 1 {
			t.Fatalf("%v: flow %d ended %d times, want once", fid, i, n)
		}
	}
	if n := s.messages.Len(); n > 0 {
		t.Fatalf("%v: %d messages not returned", fid, n)
	}
	switch m := s.model.(type) {
	case *trains:
		if n := m.all.Len() - 1; n > 0 { // number 0 means none
			t.Fatalf("%d trains not returned", n)
		}
		for _, v := range m.slices {
			if v != nil && !v.queuesEmpty() {
				t.Fatalf("trains are left in front of slice %d", ^v.key)
			}
		}
		for _, v := range slices.Concat(m.servers...) {
			if !v.queuesEmpty() {
				t.Fatalf("trains are left in front of link %d", v.key)
			}
		}
	case *flits:
		if n := m.inFlight.Len(); n != 0 {
			t.Fatalf("%d flits are not returned", n)
		}
	}
}

// alone returns how long flow i takes when it is the only traffic.
func (l load) alone(t tester, i int, fid Fidelity) Time {
	f := l.flows[i]
	f.at = 0
	return load{net: l.net, cfg: l.cfg, flows: []flow{f}, after: []int{-1}}.simulate(t, fid).done[0]
}

// rounding returns by how much a message of n bytes may seem faster than the same message
// without other traffic. The distance between two flits of a train is rounded down to a
// whole femtosecond, which loses at most one femtosecond per flit.
func rounding(n Bytes, flit Bytes) Time { return Time(n / flit) }

// TestStress runs random traffic in both models and checks five properties. Every message
// ends once and leaves no state. Every link carries the same bytes in the same busy time in
// both models. Two runs are equal. No message is faster than without other traffic. The
// makespans of the models differ by at most the bounds given for the kind of traffic.
func TestStress(t *testing.T) {
	for _, x := range mixes {
		t.Run(x.name, func(t *testing.T) {
			var sum, worst, flowSum float64
			var flows int
			var events uint64
			for seed := range uint64(stressSeeds) {
				l := x.draw(seed)
				train, reference := l.simulate(t, Train), l.simulate(t, Flit)
				for i := range l.net {
					got, want := train.Stats(topology.LinkID(i)), reference.Stats(topology.LinkID(i))
					if got.Bytes != want.Bytes || got.Busy != want.Busy {
						t.Fatalf("seed %d: link %d carried %v in %v, want %v in %v", seed, i, got.Bytes, got.Busy, want.Bytes, want.Busy)
					}
				}
				for _, s := range []*stress{train, reference} {
					fid := s.cfg.Fidelity
					if again := l.simulate(t, fid); !slices.Equal(again.done, s.done) || again.eng.Events() != s.eng.Events() {
						t.Fatalf("seed %d: %v: two runs differ:\n%v\n%v", seed, fid, s.done, again.done)
					}
					for i, f := range l.flows {
						if got, least := s.done[i]-s.start[i], l.alone(t, i, fid)-rounding(f.Bytes, l.cfg.Flit); got < least {
							t.Fatalf("seed %d: %v: flow %d of %v took %v, want at least %v as alone", seed, fid, i, f.Bytes, got, least)
						}
					}
				}
				got, want := slices.Max(train.done), slices.Max(reference.done)
				apart := float64(max(got-want, want-got)) / float64(max(want, 1))
				worst = max(worst, apart)
				if apart > x.worst {
					t.Errorf("seed %d: makespan %v, want %v within %v %%", seed, got, want, 100*x.worst)
				}
				sum += apart
				events += train.eng.Events()
				for i := range l.flows {
					took, should := train.done[i]-train.start[i], reference.done[i]-reference.start[i]
					flowSum += float64(max(took-should, should-took)) / float64(max(should, 1))
					flows++
				}
			}
			t.Logf("makespans are %.4f %% apart on average, %.3f %% at worst; messages %.3f %% on average; %d events for each load",
				100*sum/stressSeeds, 100*worst, 100*flowSum/float64(flows), events/stressSeeds)
			if mean := sum / stressSeeds; mean > x.mean {
				t.Errorf("makespans are %.3f %% apart on average, want at most %.3f %%", 100*mean, 100*x.mean)
			}
		})
	}
}

// TestEveryFlitPassesOnce runs more random traffic in the Train model and checks that every
// link carries exactly the bytes of the messages that pass it. Trains that are cut in
// service must neither lose flits nor deliver them twice.
func TestEveryFlitPassesOnce(t *testing.T) {
	for _, x := range mixes {
		for seed := range uint64(10 * stressSeeds) {
			l := x.draw(seed)
			want := make([]Bytes, len(l.net))
			for _, f := range l.flows {
				for _, id := range f.Path {
					want[id] += f.Bytes
				}
			}
			s := l.simulate(t, Train)
			for id, n := range want {
				if got := s.Stats(topology.LinkID(id)).Bytes; got != n {
					t.Fatalf("%s, seed %d: link %d carried %v, want %v", x.name, seed, id, got, n)
				}
			}
		}
	}
}

// parted is a network whose nodes are in two partitions in turn.
type parted struct{ hops }

func (parted) Partitions(id topology.LinkID) (of, after int32) {
	return 1 + int32(id/2)%2, 1 + int32(id/2+1)%2
}

// TestEveryFlitPassesOnceBetweenPartitions runs random traffic over two partitions. A partition
// learns of a cut only after the latency of the link. Messages must end, with all flits, and
// the makespan must be close to that of one partition.
func TestEveryFlitPassesOnceBetweenPartitions(t *testing.T) {
	for _, x := range mixes {
		t.Run(x.name, func(t *testing.T) {
			var sum, worst float64
			for seed := range uint64(3 * stressSeeds) {
				l := x.draw(seed)
				one := l.simulate(t, Train)
				l.parted = true
				two := l.simulate(t, Train)
				for id := range l.net {
					if got, want := two.Stats(topology.LinkID(id)).Bytes, one.Stats(topology.LinkID(id)).Bytes; got != want {
						t.Fatalf("seed %d: link %d carried %v, want %v", seed, id, got, want)
					}
				}
				got, want := slices.Max(two.done), slices.Max(one.done)
				apart := float64(max(got-want, want-got)) / float64(max(want, 1))
				sum, worst = sum+apart, max(worst, apart)
			}
			mean := sum / (3 * stressSeeds)
			t.Logf("makespans are %.4f %% apart on average, %.3f %% at worst", 100*mean, 100*worst)
			if mean > 0.0001 {
				t.Errorf("makespans are %.4f %% apart on average, want at most 0.01 %%", 100*mean)
			}
		})
	}
}

// TestIdleFabricForgets checks that a message on a fabric that has become idle takes
// exactly the same time as on a new fabric.
func TestIdleFabricForgets(t *testing.T) {
	for _, x := range mixes {
		for seed := range uint64(stressSeeds) {
			l := x.draw(seed)
			l.cfg.HBM.Turnaround = 0 // a channel remembers its last direction
			for _, fid := range fidelities {
				s := l.simulate(t, fid)
				i := int(seed) % len(l.flows)
				s.ended = make([]int, len(l.flows))
				for j := range s.ended {
					s.ended[j] = 1
				}
				s.ended[i] = 0
				s.load.after = slices.Repeat([]int{-2}, len(l.flows)) // no flow follows flow i
				s.Handle(worldStart, uint64(i))
				s.drain(t)
				if got, want := s.done[i]-s.start[i], l.alone(t, i, fid); got != want {
					t.Fatalf("%s, seed %d: %v: flow %d of %v takes %v, want %v", x.name, seed, fid, i, l.flows[i].Bytes, got, want)
				}
			}
		}
	}
}

// TestNoCrossTalk checks that the end times of a load stay the same when other transfers
// run on separate links and HBM slices.
func TestNoCrossTalk(t *testing.T) {
	for _, x := range mixes {
		for seed := range uint64(stressSeeds) {
			l := x.draw(seed)
			own := l.flows[0]
			own.at, own.Queue = x.window/3, 0
			own.Path = slices.Clone(own.Path)
			for j := range own.Path { // the links of a second, separate machine
				own.Path[j] += topology.LinkID(len(l.net))
			}
			for _, b := range []*Bank{&own.Read, &own.Write} {
				if b.Slice != 0 {
					b.Slice += SliceID(x.slices)
				}
			}
			l.net = slices.Concat(l.net, l.net)
			l.flows, l.after = append(l.flows, own), append(l.after, -1)
			last := len(l.flows) - 1
			for _, fid := range fidelities {
				s := l.simulate(t, fid)
				if got, want := s.done[last]-s.start[last], l.alone(t, last, fid); got != want {
					t.Fatalf("%s, seed %d: %v: %s takes %v, want %v", x.name, seed, fid, fmt.Sprint(own.Bytes, own.Path), got, want)
				}
			}
		}
	}
}
