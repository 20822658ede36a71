package machine

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// exchangeTiles sends two tiles east and receives two tiles from the west, the first of
// them with RecvAny. Tests of groups run it as their kernel.
func exchangeTiles(t *tl.PE) {
	big := tl.Shape{5, 1000} // three fragments
	t.Send(tl.East, t.Zeros(tl.Shape{31}, tl.F16))
	t.RecvAny(tl.Shape{31}, tl.F16)
	r := t.RecvAsync(tl.West, big, tl.F16)
	t.Send(tl.East, t.Zeros(big, tl.F16))
	r.Wait().Add(1)
}

// runGroups starts workers on the given PEs and runs the kernel `body` on one group of
// workers after another. rounds[i] lists the members of group i as indices in pes.
// runGroups returns, for each group, how long each member takes. It calls the function
// `check` when a group has ended.
func (r *rig) runGroups(pes []PEID, rounds [][]int, body func(t *tl.PE), check func(round int)) [][]simtime.Time {
	took, workers := make([][]simtime.Time, len(rounds)), make([]*Worker, len(pes))
	due := make([]int, len(pes)) // each worker's number in the current group, from 1; 0 if it has no kernel to run
	var group *Group
	round, ready := -1, 0
	next := func() {
		if round++; round == len(rounds) {
			for _, w := range workers {
				w.Wake()
			}
			return
		}
		var members []*Worker
		var at []PEID
		for i, k := range rounds[round] {
			members, at, due[k] = append(members, workers[k]), append(at, pes[k]), i+1
		}
		took[round] = make([]simtime.Time, len(members))
		var err error
		if group, err = Join("k", members, ring(at...), topology.IPCQ{}); err != nil {
			r.Fatal(err)
		}
		for _, w := range members {
			w.Wake()
		}
	}
	r.run(Program{Targets: pes, Serve: func(w *Worker) {
		k := w.Rank()
		workers[k] = w
		if ready++; ready == len(pes) {
			next()
		}
		for {
			for due[k] == 0 && round < len(rounds) {
				w.Wait(waitReason("a group"))
			}
			if round == len(rounds) {
				return
			}
			took[round][due[k]-1] = w.runKernel("k", body)
			due[k] = 0
			if group.Leave(w) {
				check(round)
				next()
			}
		}
	}})
	return took
}

// TestGroupsOfWorkers checks that a kernel on a group of workers takes as long as in a
// launch on the same PEs, whichever groups ran before. It also checks that a group leaves
// no memory allocated, and that traces name the queues of the group by their ports.
func TestGroupsOfWorkers(t *testing.T) {
	pes, rounds := []PEID{0, 1, 100}, [][]int{{0, 1}, {1, 2}, {2, 0, 1}, {1}, {0, 1, 2}, {0, 1}}
	for _, kind := range topology.BufferKinds {
		sets := []string{set("pe.ipcq.buffer_kind", kind)}
		var file bytes.Buffer
		recorder := trace.New(&file)
		r := newRig(t, Options{Trace: recorder}, sets...)
		used := func() (n memory.Bytes) {
			for _, id := range pes {
				for _, k := range []topology.Kind{topology.KindTCM, topology.KindSRAM, topology.KindHBM} {
					n += r.Memory(r.PE(id).Memory(k)).Allocator.Used()
				}
			}
			return n
		}
		before := used()
		took := r.runGroups(pes, rounds, exchangeTiles, func(round int) {
			same(t, fmt.Sprintf("%s: memory in use after group %d", kind, round), used(), before)
		})
		for i, members := range rounds {
			var at []PEID
			for _, k := range members {
				at = append(at, pes[k])
			}
			run := newRig(t, Options{}, sets...).run(Program{Targets: at, Links: ring(at...), Body: exchangeTiles})
			for k, id := range at {
				same(t, fmt.Sprintf("%s: member %d of group %d", kind, k, i), took[i][k], run.ExecOf(id))
			}
		}
		r.TraceLinks()
		if err := recorder.Close(nil); err != nil {
			t.Fatal(err)
		}
		readTrace(t, file.Bytes())
		if want := []byte(`"queue west"`); !bytes.Contains(file.Bytes(), want) || bytes.Contains(file.Bytes(), []byte("member")) {
			t.Errorf("%s: the trace has no counter %s, or one that names a member", kind, want)
		}
	}
}

// TestJoinErrors checks that Join fails if the neighbour table names a PE that is not a
// member, or if there is not enough memory for the queues.
func TestJoinErrors(t *testing.T) {
	for _, c := range []struct {
		table []Connection
		slot  memory.Bytes
		want  string
	}{
		{ring(0, 2), 0, "kernel k: the neighbour table names PE 2, which the launch does not run on"},
		{ring(0, 1), 1 << 40, "kernel k: slots of the queue sip0.cube0.pe0 east (member 0) -> sip0.cube0.pe1 west (member 1): "},
	} {
		r := newRig(t, Options{})
		var first *Worker
		_, err := r.try(Program{Targets: []PEID{0, 1}, Serve: func(w *Worker) {
			if first == nil {
				first = w
				return
			}
			_, err := Join("k", []*Worker{first, w}, c.table, topology.IPCQ{SlotSize: c.slot})
			r.Engine.Stop(err)
		}})
		if got := errText(err); len(got) < len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

// TestGroupsFollowEachOther checks that RecvAny starts its search at the first port in
// every new group. A worker that has left its group must have no queues.
func TestGroupsFollowEachOther(t *testing.T) {
	r := newRig(t, Options{})
	order := map[int][]tl.Port{}
	body := func(t *tl.PE) {
		t.Send(tl.West, t.Zeros(tl.Shape{1}, tl.F16))
		t.Send(tl.East, t.Zeros(tl.Shape{1}, tl.F16))
		spendCalls(t, 1000)
		_, port := t.RecvAny(tl.Shape{1}, tl.F16)
		order[t.Rank()] = append(order[t.Rank()], port)
		t.Recv(tl.East+tl.West-port, tl.Shape{1}, tl.F16)
	}
	r.runGroups([]PEID{0, 1, 100}, [][]int{{0, 1, 2}, {2, 0}, {0, 1, 2}}, body, func(int) {})
	for rank, want := range []string{"[east east east]", "[east east]", "[east east east]"} {
		same(t, fmt.Sprint("ports of rank ", rank), fmt.Sprint(order[rank]), want)
	}
	r = newRig(t, Options{})
	e := r.failure(Program{Targets: []PEID{0}, Serve: func(w *Worker) {
		group, err := Join("k", []*Worker{w}, ring(0), topology.IPCQ{})
		if err != nil {
			t.Error(err)
		}
		w.runKernel("k", exchangeTiles)
		same(t, "the only member is the last", group.Leave(w), true)
		w.runKernel("later", exchangeTiles)
	}})
	same(t, "a Send after the group", e.Err.Error(), "no port east: the launch has no neighbour table, or this PE is not in it")
}
