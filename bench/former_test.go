package bench

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
)

// TestFormerParams checks that a parameter can be given by its former name, and that the
// former name is reported. If the bench has another parameter whose current name is the
// former name, the name selects that parameter.
func TestFormerParams(t *testing.T) {
	nothing := func(*B) error { return nil }
	current := Bench{Name: "current", Run: nothing, Params: []Param{{Name: "dtype"}, {Name: "algo", Names: (*ccl.Config).Names}, {Name: "elems"}}}
	own := Bench{Name: "own", Run: nothing, Params: []Param{{Name: "dtype"}, {Name: "precision"}}}
	for _, tt := range []struct {
		bench        Bench
		given        map[string]string
		want, report string
	}{
		{current, map[string]string{"datatype": "f32", "algorithm": "ring", "n-elem": "5"}, "map[algo:ring dtype:f32 elems:5]", "[--algorithm --algo --datatype --dtype --n-elem --elems]"},
		{current, map[string]string{"precision": "f32", "ccl-algorithm": "ring"}, "map[algo:ring dtype:f32 elems:]", "[--ccl-algorithm --algo --precision --dtype]"},
		{current, map[string]string{"algo": "ring_allreduce_8"}, "map[algo:ring_all_reduce_8 dtype: elems:]", "[ring_allreduce_8 ring_all_reduce_8]"},
		{current, map[string]string{"dtype": "f32", "algo": "all"}, "map[algo:all dtype:f32 elems:]", "[]"},
		{current, map[string]string{"dtype": "f32", "precision": "f16"}, "--precision: now called --dtype, which is given too: give one", "[]"},
		{current, map[string]string{"datatype": "f32", "precision": "f16"}, "--precision: now called --dtype, which is given too: give one", "[--datatype --dtype]"},
		{own, map[string]string{"precision": "f32"}, "map[dtype: precision:f32]", "[]"},
		{own, map[string]string{"algorithm": "ring"}, "--algorithm: no parameter of bench own, which has [dtype precision]", "[]"},
	} {
		report := []string{}
		ctx := config.WithRenamed(t.Context(), func(old, name string) { report = append(report, old, name) })
		all, err := tt.bench.params(ctx, tt.given, nil)
		got := fmt.Sprint(all)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || fmt.Sprint(report) != tt.report {
			t.Errorf("%s, %v: got %s, reports %s, want %s, %s", tt.bench.Name, tt.given, got, report, tt.want, tt.report)
		}
	}
}

// TestFormerParamsWarn checks that Execute calls Options.Warn for a former name.
func TestFormerParamsWarn(t *testing.T) {
	b := Bench{Name: "current", Run: func(*B) error { return nil }, Params: []Param{{Name: "dtype"}}}
	var warnings []string
	r, err := b.Execute(t.Context(), Options{Params: map[string]string{"precision": "f32"}, Warn: func(text string) { warnings = append(warnings, text) }})
	if err != nil || r.Config.Params["dtype"] != "f32" || fmt.Sprint(warnings) != "[--precision is now called --dtype]" {
		t.Errorf("got %v, warnings %q, want a warning of --precision", err, warnings)
	}
}
