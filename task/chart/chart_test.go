package chart

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/task"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// chartOf returns the panels, rows and bars of a chart of the given runs.
func chartOf(runs ...*task.Result) *draw.Gantt { return Gantt{Runs: runs}.chart() }

// twoTasks returns a run on two ranks of two compute cores each. Each rank has one task;
// the task of rank 0 communicates.
func twoTasks(r task.Runtime) *task.Result {
	return &task.Result{
		Runtime: r, Ranks: 2, Cores: 2, Tasks: 2, Makespan: 100 * simtime.Nanosecond,
		Control: []task.Work{
			{Rank: 0, Core: task.BuilderCore, Kind: task.Building, Task: 0, From: 0, To: 10 * simtime.Nanosecond},
			{Rank: 0, Core: 0, Kind: task.Dispatching, Task: 0, From: 10 * simtime.Nanosecond, To: 15 * simtime.Nanosecond},
			{Rank: 0, Core: 0, Kind: task.Noticing, Task: 0, From: 50 * simtime.Nanosecond, To: 60 * simtime.Nanosecond},
		},
		Spans: []task.Span{
			{Rank: 0, Core: 1, Task: 0, Name: "tell", Peers: true, Dispatched: 10 * simtime.Nanosecond, Begin: 20 * simtime.Nanosecond, End: 50 * simtime.Nanosecond, Noticed: 60 * simtime.Nanosecond},
			{Rank: 1, Core: 0, Task: 0, Name: "add", Dispatched: 10 * simtime.Nanosecond, Begin: 20 * simtime.Nanosecond, End: 90 * simtime.Nanosecond, Noticed: 100 * simtime.Nanosecond},
		},
	}
}

// busy returns a run in which every compute core of every rank has one task, and each rank
// has one control core.
func busy(r task.Runtime, ranks, cores int) *task.Result {
	result := &task.Result{Runtime: r, Ranks: ranks, Cores: cores, Tasks: ranks * cores, Makespan: 100 * simtime.Nanosecond}
	for rank := range ranks {
		result.Control = append(result.Control, task.Work{Rank: rank, To: 5 * simtime.Nanosecond})
		for core := range cores {
			result.Spans = append(result.Spans, task.Span{Rank: rank, Core: core, Name: "work", End: 90 * simtime.Nanosecond, Noticed: 100 * simtime.Nanosecond})
		}
	}
	return result
}

// TestText checks the complete text of several charts.
func TestText(t *testing.T) {
	short := twoTasks(task.HostBuildGraph)
	short.Makespan, short.Control, short.Spans = 20*simtime.Nanosecond, short.Control[:1], nil
	const legend = "B building   s scheduling   # computing   ~ communicating\n· mostly idle\n"
	tests := []struct {
		name    string
		results []*task.Result
		want    string
	}{
		{"none", nil, legend},
		{"one rank", []*task.Result{busy(task.AICPUBuildGraph, 1, 2)}, `aicpu_build_graph: makespan 100 ns
control 0│BB·                                              │
pe 0     │############################################sssss│
pe 1     │############################################sssss│
         └┬────────┬─────────┬─────────┬─────────┬─────────┬
       ns 0        20        40        60        80      100
` + legend},
		{"two ranks, one axis", []*task.Result{twoTasks(task.HostBuildGraph), twoTasks(task.TensorMapAndRingBuffer)}, `host_build_graph, rank 0: makespan 100 ns
host        │BBBBB                                         │
control 0   │    ·ss                sssss                  │
pe 1        │    ·ssss~~~~~~~~~~~~~~sssss                  │
… 1 idle

host_build_graph, rank 1
pe 0        │    ·ssss################################sssss│
… 1 idle

tensormap_and_ringbuffer, rank 0: makespan 100 ns
orchestrator│BBBBB                                         │
control 0   │    ·ss                sssss                  │
pe 1        │    ·ssss~~~~~~~~~~~~~~sssss                  │
… 1 idle

tensormap_and_ringbuffer, rank 1
pe 0        │    ·ssss################################sssss│
… 1 idle
            └┬────────┬────────┬────────┬────────┬─────────┬
          ns 0        20       40       60       80      100
` + legend},
		{"two ranks, axes of their own", []*task.Result{short, twoTasks(task.TensorMapAndRingBuffer)}, `host_build_graph, rank 0: makespan 20 ns
host        │BBBBBBBBBBBBBBBBBBBBBBB                       │
… 2 idle
            └┬──────────┬───────────┬──────────┬───────────┬
          ns 0          5           10         15         20

host_build_graph, rank 1
… 2 idle
            └┬──────────┬───────────┬──────────┬───────────┬
          ns 0          5           10         15         20

tensormap_and_ringbuffer, rank 0: makespan 100 ns
orchestrator│BBBBB                                         │
control 0   │    ·ss                sssss                  │
pe 1        │    ·ssss~~~~~~~~~~~~~~sssss                  │
… 1 idle
            └┬────────┬────────┬────────┬────────┬─────────┬
          ns 0        20       40       60       80      100

tensormap_and_ringbuffer, rank 1
pe 0        │    ·ssss################################sssss│
… 1 idle
            └┬────────┬────────┬────────┬────────┬─────────┬
          ns 0        20       40       60       80      100
` + legend},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			if err := (Gantt{Runs: tt.results}).Text(&got, 60); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Errorf("chart (-want +got):\n%s\ngot:\n%s", diff, got.String())
			}
		})
	}
}

// TestTextErrors checks the errors of Text for too few columns and for a writer that fails.
func TestTextErrors(t *testing.T) {
	const want = "write a Gantt chart in 19 columns: it takes at least 20; widen the terminal or draw it as a picture"
	g := Gantt{Runs: []*task.Result{twoTasks(task.HostBuildGraph)}}
	if err := g.Text(io.Discard, 19); err == nil || err.Error() != want {
		t.Errorf("19 columns: got error %v, want %q", err, want)
	}
	r, w := io.Pipe()
	r.Close()
	if err := g.Text(w, 60); err != io.ErrClosedPipe {
		t.Errorf("closed pipe: got error %v, want %v", err, io.ErrClosedPipe)
	}
}

// TestSharedAxis checks that runs share a time axis, unless one run is more than four times
// as long as another. Then each panel must have its own axis, for any number of ranks.
func TestSharedAxis(t *testing.T) {
	long := twoTasks(task.HostBuildGraph)
	for _, tt := range []struct {
		makespan task.Time
		want     bool
	}{{100 * simtime.Nanosecond, false}, {25 * simtime.Nanosecond, false}, {24 * simtime.Nanosecond, true}, {401 * simtime.Nanosecond, true}} {
		other := twoTasks(task.AICPUBuildGraph)
		other.Makespan = tt.makespan
		if got := chartOf(long, other).SeparateAxes; got != tt.want {
			t.Errorf("runs of %v and %v are apart: %v, want %v", long.Makespan, other.Makespan, got, tt.want)
		}
	}
	if chartOf(long).SeparateAxes {
		t.Error("the ranks of one run are apart, want one axis")
	}
}

// TestManyRanks checks that a chart shows all ranks at the same scale, whatever their
// number of rows. With eight busy ranks a text must have 40 rows for each rank, and a
// picture of three runs 16 rows.
func TestManyRanks(t *testing.T) {
	const ranks, cores = 8, 128
	var results []*task.Result
	for _, r := range task.Runtimes {
		results = append(results, busy(r, ranks, cores))
	}
	var text strings.Builder
	g := Gantt{Title: "Many ranks", Subtitle: "all busy", Runs: results}
	if err := g.Text(&text, 100); err != nil {
		t.Fatal(err)
	}
	picture, err := g.Encode("x.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range task.Runtimes {
		for rank := range ranks {
			title := fmt.Sprintf("%s, rank %d", r, rank)
			if !strings.Contains(text.String(), title) || !bytes.Contains(picture, []byte(">"+title+"<")) {
				t.Errorf("%s is missing", title)
			}
		}
	}
	panels := ranks * len(results)
	for what, want := range map[string]int{"\npe 38 ": panels, "\npe 39 ": 0, "\n… 89 more\n": panels} {
		if got := strings.Count(text.String(), what); got != want {
			t.Errorf("text: %q is there %d times, want %d", what, got, want)
		}
	}
	for what, want := range map[string]int{">pe 14<": panels, ">pe 15<": 0, ">… 113 more<": panels} {
		if got := bytes.Count(picture, []byte(what)); got != want {
			t.Errorf("picture: %q is there %d times, want %d", what, got, want)
		}
	}
	for _, p := range g.chart().Panels {
		if p.Span() != results[0].Makespan {
			t.Errorf("%s is %v long, want %v", p.Title, p.Span(), results[0].Makespan)
		}
	}
}

// TestSkipBuilding checks that the chart begins at the first dispatch, 10 ns after the
// start of building. Later building must be drawn. The host builds nothing later, so it
// must have no row.
func TestSkipBuilding(t *testing.T) {
	host, device := twoTasks(task.HostBuildGraph), twoTasks(task.TensorMapAndRingBuffer)
	device.Control = append(device.Control, task.Work{Core: task.BuilderCore, Kind: task.Building, Task: 1, From: 5 * simtime.Nanosecond, To: 40 * simtime.Nanosecond})
	const want = `two runs
4 tasks; times from the first dispatch

host_build_graph, rank 0: makespan 100 ns; 10 ns of building left out
control 0   │sssss                                   ssssssssss                                        │
pe 1        │ssssssssss~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ssssssssss                                        │
… 1 idle

host_build_graph, rank 1
pe 0        │ssssssssss######################################################################ssssssssss│
… 1 idle

tensormap_and_ringbuffer, rank 0: makespan 100 ns; 10 ns of building left out
orchestrator│BBBBBBBBBBBBBBBBBBBBBBBBBBBBBB                                                            │
control 0   │sssss                                   ssssssssss                                        │
pe 1        │ssssssssss~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ssssssssss                                        │
… 1 idle

tensormap_and_ringbuffer, rank 1
pe 0        │ssssssssss######################################################################ssssssssss│
… 1 idle
            └┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬
          ns 0         10        20        30        40        50        60        70        80       90
B building   s scheduling   # computing   ~ communicating   · mostly idle
`
	var got strings.Builder
	g := Gantt{Title: "two runs", Subtitle: "4 tasks", Runs: []*task.Result{host, device}, SkipBuilding: true}
	if err := g.Text(&got, 104); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("chart (-want +got):\n%s\ngot:\n%s", diff, got.String())
	}
	if got := (Gantt{SkipBuilding: true}).chart().Subtitle; got != "times from the first dispatch" {
		t.Errorf("subtitle: got %q", got)
	}
}

// TestSkipBuildingScale checks that runs that are equally long after the first dispatch
// share an axis, however long the host builds. A run without tasks must be drawn
// completely.
func TestSkipBuildingScale(t *testing.T) {
	long, short := twoTasks(task.HostBuildGraph), twoTasks(task.AICPUBuildGraph)
	long.Makespan += simtime.Microsecond
	for i := range long.Spans {
		s := &long.Spans[i]
		for _, at := range []*task.Time{&s.Dispatched, &s.Begin, &s.End, &s.Noticed} {
			*at += simtime.Microsecond
		}
	}
	g := Gantt{Runs: []*task.Result{long, short}}
	if !g.chart().SeparateAxes {
		t.Error("1100 ns and 100 ns share an axis, want one each")
	}
	g.SkipBuilding = true
	if g.chart().SeparateAxes {
		t.Error("90 ns and 90 ns have an axis each, want one for both")
	}
	none := &task.Result{Runtime: task.HostBuildGraph, Ranks: 1, Cores: 1, Makespan: 7, Control: []task.Work{{Core: task.BuilderCore, To: 7}}}
	if p := (Gantt{Runs: []*task.Result{none}, SkipBuilding: true}).chart().Panels[0]; p.End != 7 || p.Note != "makespan 7 fs" || len(p.Rows[0].Bars) != 1 {
		t.Errorf("without tasks: got %+v", p)
	}
}

// TestBars checks the times, the activities and the tooltip texts of the bars of a run.
func TestBars(t *testing.T) {
	want := []draw.GanttRow{
		{Label: "orchestrator", Bars: []draw.GanttBar{{From: 0, To: 10 * simtime.Nanosecond, Activity: draw.Building, Text: "submit task 0"}}},
		{Label: "control 0", Bars: []draw.GanttBar{
			{From: 10 * simtime.Nanosecond, To: 15 * simtime.Nanosecond, Activity: draw.Scheduling, Text: "dispatch task 0"},
			{From: 50 * simtime.Nanosecond, To: 60 * simtime.Nanosecond, Activity: draw.Scheduling, Text: "notice task 0"},
		}},
		{Label: "pe 0"},
		{Label: "pe 1", Bars: []draw.GanttBar{
			{From: 10 * simtime.Nanosecond, To: 20 * simtime.Nanosecond, Activity: draw.Scheduling, Text: "start tell 0"},
			{From: 20 * simtime.Nanosecond, To: 50 * simtime.Nanosecond, Activity: draw.Communicating, Text: "tell 0"},
			{From: 50 * simtime.Nanosecond, To: 60 * simtime.Nanosecond, Activity: draw.Scheduling, Text: "end of tell 0"},
		}},
	}
	if diff := cmp.Diff(want, chartOf(twoTasks(task.TensorMapAndRingBuffer)).Panels[0].Rows); diff != "" {
		t.Errorf("rows of rank 0 (-want +got):\n%s", diff)
	}
}

// TestBarsOfMessages checks the bars for messages between ranks and for reading values.
func TestBarsOfMessages(t *testing.T) {
	ns := simtime.Nanosecond
	r := &task.Result{Runtime: task.AICPUBuildGraph, Ranks: 1, Cores: 1, Makespan: 30 * ns, Control: []task.Work{
		{Kind: task.Posting, Task: 7, To: 5 * ns}, {Kind: task.Receiving, Task: 8, From: 5 * ns, To: 15 * ns}, {Kind: task.Reading, Task: 9, From: 20 * ns, To: 30 * ns},
	}}
	want := []draw.GanttBar{
		{To: 5 * ns, Activity: draw.Scheduling, Text: "send a message about task 7"},
		{From: 5 * ns, To: 15 * ns, Activity: draw.Scheduling, Text: "read a message about task 8"},
		{From: 20 * ns, To: 30 * ns, Activity: draw.Building, Text: "read a value of task 9"},
	}
	if diff := cmp.Diff(want, chartOf(r).Panels[0].Rows[0].Bars); diff != "" {
		t.Errorf("bars of the control core (-want +got):\n%s", diff)
	}
}

// TestPanelsHaveEverything checks that the panel of a rank shows all work of the rank and
// all its compute cores.
func TestPanelsHaveEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &task.Result{
			Runtime: rapid.SampledFrom(task.Runtimes).Draw(t, "runtime"),
			Ranks:   rapid.IntRange(1, 9).Draw(t, "ranks"), Cores: rapid.IntRange(1, 5).Draw(t, "cores"),
		}
		rank, length := rapid.IntRange(0, r.Ranks-1), rapid.Int64Range(0, 1000)
		want := make([]task.Time, r.Ranks)
		for range rapid.IntRange(0, 20).Draw(t, "spans") {
			s := task.Span{Rank: rank.Draw(t, "rank"), Core: rapid.IntRange(0, r.Cores-1).Draw(t, "core"), Dispatched: r.Makespan}
			s.Begin = s.Dispatched + task.Time(length.Draw(t, "start"))
			s.End = s.Begin + task.Time(length.Draw(t, "kernel"))
			s.Noticed = s.End + task.Time(length.Draw(t, "end"))
			w := task.Work{Rank: rank.Draw(t, "for"), Core: rapid.IntRange(task.BuilderCore, 2).Draw(t, "control"), From: s.Begin, To: s.End}
			r.Spans, r.Control, r.Makespan = append(r.Spans, s), append(r.Control, w), s.Noticed
			want[s.Rank] += s.Noticed - s.Dispatched
			want[w.Rank] += w.To - w.From
		}
		g := chartOf(r)
		if len(g.Panels) != r.Ranks {
			t.Fatalf("%d ranks have %d panels", r.Ranks, len(g.Panels))
		}
		for rank, p := range g.Panels {
			var got task.Time
			cores := 0
			for _, row := range p.Rows {
				for _, b := range row.Bars {
					got += b.To - b.From
				}
				if strings.HasPrefix(row.Label, "pe ") {
					cores++
				}
			}
			if got != want[rank] || cores != r.Cores || p.End != r.Makespan {
				t.Errorf("%s has %v of work, %d compute cores and ends at %v, want %v, %d and %v", p.Title, got, cores, p.End, want[rank], r.Cores, r.Makespan)
			}
		}
	})
}

// BenchmarkGantt measures how long it takes to compute the chart of a run with at least
// 65,536 spans.
func BenchmarkGantt(b *testing.B) {
	r := busy(task.AICPUBuildGraph, 8, 128)
	for len(r.Spans) < 1<<16 {
		r.Spans = append(r.Spans, r.Spans...)
	}
	for b.Loop() {
		chartOf(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(r.Spans)), "ns/span")
}

// TestIdleShare checks the idle_share of a row. It must be right even if the sum of the
// times of all compute cores does not fit into a Time. It must never be negative, and must
// be 0 for a run that takes no time.
func TestIdleShare(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  task.Result
		want float64
	}{
		{"nothing ran", task.Result{Ranks: 1, Cores: 128}, 0},
		{"a quarter", task.Result{Ranks: 2, Cores: 2, Makespan: 100, Compute: 200, Communicate: 60, Schedule: 40, Idle: 100}, 0.25},
		{"all busy", task.Result{Ranks: 1, Cores: 1, Makespan: simtime.Never, Compute: simtime.Never - 2, Communicate: 1, Schedule: 1}, 0},
		{"131,072 cores", task.Result{Ranks: 1024, Cores: 128, Makespan: 128 * simtime.Millisecond, Compute: 4096 * simtime.Second, Idle: simtime.Never}, 0.755859375},
	} {
		if got := NewRow(&tt.run).Idle; got != tt.want {
			t.Errorf("%s: idle_share is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEncode checks that the ending of the file name selects the format of the picture.
func TestEncode(t *testing.T) {
	g := Gantt{Title: "one", Runs: []*task.Result{twoTasks(task.HostBuildGraph)}}
	for name, want := range map[string]string{"x.svg": "<svg ", "x.PNG": "\x89PNG"} {
		if picture, err := g.Encode(name); err != nil || !bytes.HasPrefix(picture, []byte(want)) {
			t.Errorf("%s: %.8q, error %v, want %q first", name, picture, err, want)
		}
	}
	if _, err := g.Encode("x.pdf"); err == nil || err.Error() != "x.pdf: pictures end in .svg or .png" {
		t.Errorf("x.pdf: error %v", err)
	}
}
