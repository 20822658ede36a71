package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// sample reports one value of every kind.
var sample = Bench{Name: "sample", Summary: "s", Run: func(ctx *torch.Context) error {
	x, err := ctx.FromSlice([]int{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
	if err != nil {
		return err
	}
	if _, err := ctx.Launch("double", func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{2}, tl.F16).Mul(2))
	}, x); err != nil {
		return err
	}
	if err := ctx.Synchronize(); err != nil {
		return err
	}
	ctx.Report.Crit = 12345678 * sim.Femtosecond // what it is does not matter here
	ctx.Metric("window_ns", 1500*sim.Picosecond)
	ctx.Metric("count", 3)
	ctx.Metric("share", 1.0/3)
	ctx.Metric("kind", "tcm")
	ctx.Metric("a<b", true)
	ctx.Metric("unknown_ns", nil)
	ctx.Row(torch.Col("size", 128), torch.Col("ns", sim.Nanosecond))
	ctx.Row(torch.Col("size", 4096), torch.Col("gbs", 2.5))
	return ctx.Check("x", x, []int{2, 4, 6, 8})
}}

func execute(t *testing.T, b Bench, o Options) *Result {
	t.Helper()
	r, err := b.Execute(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJSON is the contract that docs/benches.md describes.
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
  "crit_ns": 12.345678,
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
      "ns": 1
    },
    {
      "size": 4096,
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
  }
}
`, file, version.Version, r.Config.Topology.Hash)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	empty := execute(t, Bench{Name: "empty", Run: nothing}, Options{Options: torch.Options{Flit: true, NoData: true}})
	got.Reset()
	if err := table.WriteJSON(&got, empty); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"metrics": {}`, `"rows": []`, `"artifacts": []`, `"fidelity": "flit"`, `"data": "off"`, `"ok": true`, `"crit_ns": 0`} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("JSON of a bench that does nothing: no %s in\n%s", want, got.String())
		}
	}
}

func TestText(t *testing.T) {
	r := execute(t, sample, Options{})
	r.Config.Topology = config.Used{Source: "preset default", Hash: "0123"}
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

metric      value
crit_ns     12.345678
window_ns   1.5
count       3
share       0.333333
kind        tcm
a<b         true
unknown_ns  -

values ok: 4 elements compared in 1 check
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

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
		t.Errorf("what is wrong (-want +got):\n%s", diff)
	}
}

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
	// A digest of other bytes is another.
	before := ReadsOf(log).Digest
	log.Ops[len(log.Ops)-2].Digest++
	if after := ReadsOf(log); after.Digest == before {
		t.Errorf("digest %s of other bytes: want another than %s", after.Digest, before)
	}
	if r := ReadsOf(&oplog.Log{}); r != (Reads{}) {
		t.Errorf("host reads of an empty log: got %+v", r)
	}
}
