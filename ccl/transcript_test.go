package ccl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestTranscripts compares the messages of collectives with recorded transcripts. Each
// algorithm has transcripts in testdata. A transcript begins with a command:
//
//	all_reduce sips=4 elements=5 hops=6 bytes=48
//
// The command runs a collective on the preset alpha_beta. The arguments are:
//
//   - `sips` and `rows`: the number of SIPs, and the rows of their grid.
//   - `cubes` and `cube_rows`: the number of cubes of each SIP, and the rows of their grid.
//   - `fabric`, `elements`, `chunk` and `root`: the fabric between SIPs, the number of
//     elements of a block, the number of elements of a chunk, and the rank of the root.
//   - `hops`, `cube_hops` and `bytes`: the expected time. It is the sum of `hops` latencies of
//     a link between SIPs, `cube_hops` latencies of a link between cubes, and the time of
//     `bytes` bytes at the bandwidth of a link.
//   - `element` and `rank`: `element=2` shows only events of element 2, and `rank=0` only
//     events of rank 0.
//
// Element i of rank r is (i+1)·10^r, so the digits of a sum show which ranks' elements it
// contains. Run with -rewrite to rewrite the files.
func TestTranscripts(t *testing.T) {
	const folder, suffix = "testdata/", ".txt"
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			datadriven.RunTest(t, folder+name+suffix, func(t *testing.T, d *datadriven.TestData) string {
				return newTranscript(t, name, d).write(t)
			})
		})
	}
	files, err := filepath.Glob(folder + "*" + suffix)
	if err != nil || len(files) != len(Names()) {
		t.Errorf("there are the transcripts %v, %v, want one for each of %v", files, err, Names())
	}
}

// transcript is an experiment whose messages are recorded.
type transcript struct {
	experiment
	sides                 [][2]*side // by rank: In and Out
	log                   *oplog.Log
	start                 simtime.Time
	data                  keeper
	formula               string
	predicted             simtime.Time
	onlyElement, onlyRank int // element and rank to show; none means all

	events []*event
	byTile map[oplog.ID]*event // the event that a tile comes from
	own    map[oplog.ID]bool   // tiles that were loaded from In
}

// keeper is an executor that keeps all values.
type keeper struct{ *exec.Executor }

func (keeper) Forget(oplog.ID) {}

// Latencies and bandwidth of links in a transcript: between SIPs as in the preset, between
// cubes a smaller latency.
const (
	linkLatency = 150 * simtime.Nanosecond
	cubeLatency = 10 * simtime.Nanosecond
	bytePeriod  = simtime.Nanosecond / 100
)

// newTranscript parses the command of d, and returns a transcript of the algorithm with the
// given name. The collective has not run yet.
func newTranscript(t *testing.T, name string, d *datadriven.TestData) *transcript {
	t.Helper()
	s := &transcript{onlyElement: none, onlyRank: none, byTile: map[oplog.ID]*event{}, own: map[oplog.ID]bool{}}
	c, err := ParseCollective(d.Cmd)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	if s.algorithm, err = Find(name, c); err != nil {
		d.Fatalf(t, "%v", err)
	}
	s.Plan = Plan{Collective: c, DType: tl.I32, Chunk: 1024, Slots: 256}
	fabric, sips, rows, cubes, cubeRows := string(topology.Ring1D), 4, 1, 1, 1
	elements, hops, cubeHops, bytes := 1, 0, 0, 0
	known := map[string]any{
		"fabric": &fabric, "sips": &sips, "rows": &rows, "cubes": &cubes, "cube_rows": &cubeRows,
		"elements": &elements, "chunk": &s.Chunk, "root": &s.Root,
		"hops": &hops, "cube_hops": &cubeHops, "bytes": &bytes, "element": &s.onlyElement, "rank": &s.onlyRank,
	}
	for _, arg := range d.CmdArgs {
		if known[arg.Key] == nil {
			d.Fatalf(t, "no argument %q: use some of %v", arg.Key, slices.Sorted(maps.Keys(known)))
		}
		arg.Scan(t, 0, known[arg.Key])
	}
	s.Ranks, s.Counts = sips*cubes, []int{elements}
	s.Layout = Layout{Fabric: topology.Shape(fabric), W: sips / rows, H: rows, CubeW: cubes / cubeRows, CubeH: cubeRows}
	s.preset = "alpha_beta"
	s.sets = []string{fmt.Sprint("system.sips.count=", sips), "system.sips.topology=" + fabric}
	if s.Layout.Fabric.Grid() {
		s.sets = append(s.sets, fmt.Sprint("system.sips.w=", s.Layout.W), fmt.Sprint("system.sips.h=", rows))
	}
	s.formula = fmt.Sprintf("%d × %v", hops, linkLatency)
	if cubes > 1 {
		s.formula += fmt.Sprintf(" + %d × %v", cubeHops, cubeLatency)
		s.sets = append(s.sets, fmt.Sprintf("sip.cube_mesh={w: %d, h: %d, gap: 0 mm}", s.Layout.CubeW, cubeRows),
			fmt.Sprintf("sip.ucie={bandwidth: 100 GB/s, overhead: %v}", cubeLatency/2)) // at each end
	}
	s.formula += fmt.Sprintf(" + %d B at 100 GB/s", bytes)
	s.predicted = simtime.Time(hops)*linkLatency + simtime.Time(cubeHops)*cubeLatency + simtime.Time(bytes)*bytePeriod
	return s
}

// write runs the collective and returns the text of the transcript.
func (s *transcript) write(t *testing.T) string {
	m := machine.New(graph(t, s.preset, s.sets...), machine.Options{Log: true})
	defer m.Close()
	s.log = m.Log
	s.data = keeper{exec.New(m.Log, func(at oplog.Space) *memory.Store { return &m.Memory(at).Store }, 1)}
	m.Data = s.data
	run := s.perform(t, m)
	s.start = run.Start
	ops := slices.Clone(s.log.Ops)
	slices.SortStableFunc(ops, func(a, b oplog.Op) int { return cmp.Compare(eventTime(&a), eventTime(&b)) })
	for i := range ops {
		s.record(t, &ops[i])
	}
	var out strings.Builder
	if s.onlyRank == none && s.onlyElement == none {
		s.writeValues(t, &out, m, 0)
	}
	s.writeEvents(&out)
	s.writeValues(t, &out, m, 1)
	fmt.Fprintf(&out, "took %v", run.Critical())
	if s.predicted > 0 {
		fmt.Fprintf(&out, "; %s = %v", s.formula, s.predicted)
	}
	fmt.Fprintln(&out)
	return out.String()
}

// perform fills the inputs of all ranks and runs the collective on machine m. It returns
// the run.
func (s *transcript) perform(t *testing.T, m *machine.Machine) *machine.Run {
	program := machine.Program{Name: s.algorithm.Name, Queues: s.queues, Links: s.links()}
	args := make([]Args, s.Ranks)
	for rank := range args {
		program.Targets = append(program.Targets, machine.PEID(rank))
		pe := m.PE(machine.PEID(rank))
		from, to := s.counts(rank)
		in, out := newSide(s.DType, from), newSide(s.DType, to)
		value, scale := 0.0, 1.0
		for range rank {
			scale *= 10
		}
		for b, n := range from {
			for i := range n {
				value += scale
				numeric.Set(s.DType, in.bytes, in.offset[b]+i, value)
			}
		}
		s.place(t, m, pe, in)
		s.place(t, m, pe, out)
		s.sides = append(s.sides, [2]*side{in, out})
		args[rank] = Args{Plan: &s.Plan, Rank: rank, In: in.block, Out: out.block}
	}
	program.Body = func(t *tl.PE) { s.algorithm.Kernel(t, &args[t.Rank()]) }
	run, err := m.Start(program, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Engine.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return run
}
