package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

type sampleMetrics struct {
	Window  torch.Time  `json:"window_ns" table:"ns,lower"`
	Count   int         `json:"count" table:",result"`
	Share   float64     `json:"share" table:",higher"`
	Kind    string      `json:"kind" table:",setting,kind of memory"`
	Less    bool        `json:"a<b" table:",check"`
	Unknown *torch.Time `json:"unknown_ns" table:"ns,bound"`
}

type sampleRow struct {
	Size int         `json:"size" table:"B,setting"`
	Time *torch.Time `json:"ns" table:"ns,lower"`
	Rate *float64    `json:"gbs" table:"GB/s,higher"`
}

// sample is a bench that reports one value of every kind.
var sample = Bench{Name: "sample", Summary: "s", Row: sampleRow{}, Metrics: sampleMetrics{}, Run: func(b *B) error {
	x, err := b.FromSlice([]int{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
	if err != nil {
		return err
	}
	if _, err := b.Launch("double", func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{2}, tl.F16).Mul(2))
	}, x); err != nil {
		return err
	}
	if err := b.Synchronize(); err != nil {
		return err
	}
	b.Found(12345678*simtime.Nanosecond, 23456789*simtime.Nanosecond, nil) // longer times than those of the launch
	b.Metrics(sampleMetrics{Window: 1500 * simtime.Picosecond, Count: 3, Share: 1.0 / 3, Kind: "tcm", Less: true})
	b.Row(sampleRow{Size: 128, Time: new(torch.Time(simtime.Nanosecond))})
	b.Row(sampleRow{Size: 4096, Rate: new(2.5)})
	return b.Check("x", x, []int{2, 4, 6, 8})
}}

func execute(t *testing.T, b Bench, o Options) *Result {
	t.Helper()
	r, err := b.Execute(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJSON checks the JSON of a result, the contract that docs/use/benches.md describes.
func TestJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.oplog")
	r := execute(t, sample, Options{Log: file})
	var got bytes.Buffer
	if err := table.WriteJSON(&got, r); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{
  "bench": "sample",
  "ok": true,
  "crit_ns": 12345678,
  "makespan_ns": 23456789,
  "metrics": {
    "window_ns": 1.5,
    "count": 3,
    "share": 0.3333333333333333,
    "kind": "tcm",
    "a<b": true,
    "unknown_ns": null
  },
  "rows": [
    {
      "size": 128,
      "ns": 1,
      "gbs": null
    },
    {
      "size": 4096,
      "ns": null,
      "gbs": 2.5
    }
  ],
  "artifacts": [
    %q
  ],
  "config": {
    "version": %q,
    "topology": {
      "source": "preset default",
      "hash": %q
    },
    "fidelity": "train",
    "data": "on",
    "check": "none"
  },
  "schema": {
    "metrics": [
      {
        "name": "window_ns",
        "unit": "ns",
        "role": "lower"
      },
      {
        "name": "count",
        "role": "result"
      },
      {
        "name": "share",
        "role": "higher"
      },
      {
        "name": "kind",
        "role": "setting",
        "label": "kind of memory"
      },
      {
        "name": "a<b",
        "role": "check"
      },
      {
        "name": "unknown_ns",
        "unit": "ns",
        "role": "bound"
      }
    ],
    "rows": [
      {
        "name": "size",
        "unit": "B",
        "role": "setting"
      },
      {
        "name": "ns",
        "unit": "ns",
        "role": "lower"
      },
      {
        "name": "gbs",
        "unit": "GB/s",
        "role": "higher"
      }
    ]
  }
}
`, file, version.Version, r.Config.Topology.Hash)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	tables, err := table.ReadJSON(torch.Must(table.Decode(&got)), r.Schema)
	if err != nil {
		t.Fatal(err)
	}
	metrics := table.FromRecords(r.Schema["metrics"], []table.Record{r.Metrics})
	if diff := cmp.Diff([]table.Named{{Name: "", Table: r.Rows}, {Name: "metrics", Table: metrics}}, tables); diff != "" {
		t.Errorf("tables that are read back (-want +got):\n%s", diff)
	}
	empty := execute(t, Bench{Name: "empty", Run: doNothing}, Options{Options: torch.Options{Flit: true, NoData: true}})
	got.Reset()
	if err := table.WriteJSON(&got, empty); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"metrics": {}`, `"rows": []`, `"artifacts": []`, `"fidelity": "flit"`, `"data": "off"`, `"ok": true`, `"crit_ns": 0`, `"makespan_ns": 0`, `"schema": {}`} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("JSON of a bench that does nothing: no %s in\n%s", want, got.String())
		}
	}
}

// TestText checks the text that WriteText writes for a result.
func TestText(t *testing.T) {
	r := execute(t, sample, Options{})
	r.Config.Topology = topology.Origin{Source: "preset default", Hash: "0123"}
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	want := `# bench: sample
# topology: preset default (hash 0123)
# fidelity: train

size  ns  gbs
 128   1    -
4096   -  2.5

metric       value
crit_ns      12345678
makespan_ns  23456789
window_ns    1.5
count        3
share        0.333333
kind         tcm
a<b          true
unknown_ns   -

values ok: 4 elements compared in 1 check
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestVerdict checks the line that verdict returns for right, wrong and missing values, and
// the sentences of Wrong.
func TestVerdict(t *testing.T) {
	right, bad := torch.Check{Name: "x", Elems: 8}, torch.Check{Name: "y", Elems: 1, Wrong: "element 0 is 1, want 2"}
	holds, fails := torch.Check{Name: "no time below the bound"}, torch.Check{Name: "times rise", Wrong: "8 take 2ns, less than 4"}
	for _, tt := range []struct {
		r    Result
		want string
	}{
		{Result{Checks: []torch.Check{right}}, "values ok: 8 elements compared in 1 check"},
		{Result{Checks: []torch.Check{right, bad}}, "values WRONG in 1 of 2 checks, 9 elements compared"},
		{Result{}, "values not checked: the bench has nothing to compare them with"},
		{Result{Config: Config{Data: "off"}}, "values not computed"},
		{Result{Checks: []torch.Check{right, holds, holds}}, "values ok: 8 elements compared in 1 check; 2 other checks passed"},
		{Result{Checks: []torch.Check{right, holds, fails}}, "values ok: 8 elements compared in 1 check; 1 of 2 other checks FAILED"},
		{Result{Checks: []torch.Check{bad, holds}}, "values WRONG in 1 of 1 check, 1 element compared; 1 other check passed"},
		{Result{Config: Config{Data: "off"}, Checks: []torch.Check{fails}}, "values not computed; 1 of 1 other check FAILED"},
	} {
		if got := tt.r.verdict(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.r.Checks, got, tt.want)
		}
	}
	r := Result{Checks: []torch.Check{right, bad, holds, fails}}
	want := []string{"wrong value: y: element 0 is 1, want 2", "failed check: times rise: 8 take 2ns, less than 4"}
	if diff := cmp.Diff(want, r.Wrong()); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s", diff)
	}
}

// TestLog checks that a run writes an op log with the version and the bench, and that
// ReadsOf counts the reads of the host in it.
func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.oplog")
	execute(t, sample, Options{Log: file})
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, log, err := oplog.Decode(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if h.Tool != version.Version || h.Notes["bench"] != "sample" {
		t.Errorf("header: got %+v, want version %s and bench sample", h, version.Version)
	}
	if r := ReadsOf(log); r.Reads != 2 || r.Known != 2 || r.Bytes != 8 || len(r.Digest) != 16 {
		t.Errorf("host reads: got %+v, want 2, all known, of 8 bytes", r)
	}
	// Other bytes have another digest.
	before := ReadsOf(log).Digest
	log.Ops[len(log.Ops)-2].Digest++
	if after := ReadsOf(log); after.Digest == before {
		t.Errorf("digest %s of other bytes: want another than %s", after.Digest, before)
	}
	if r := ReadsOf(&oplog.Log{}); r != (Reads{}) {
		t.Errorf("host reads of an empty log: got %+v", r)
	}
}
