package bench

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

type echoMetrics struct {
	RanksPer string `json:"ranks_per" table:",setting"`
}

// echo is a bench that reports its parameters.
var echo = Bench{
	Name: "echo", Summary: "s",
	Params: []Param{
		{Name: "ranks-per", Usage: "what a rank is", Default: "pe", Values: []string{"pe", "sip"}},
		{Name: "note", Usage: "any text"},
	},
	Metrics: echoMetrics{},
	Run: func(b *B) error {
		b.Metrics(echoMetrics{b.Param("ranks-per")})
		if note := b.Param("note"); note != "" {
			b.Notef("note: %s", note)
		}
		return nil
	},
}

// TestCostOf checks that the cost depends on the values of all parameters, defaults
// included, and that it is 1 if the bench has no Cost or a parameter is wrong.
func TestCostOf(t *testing.T) {
	b := echo
	if got := b.CostOf(Options{}); got != 1 {
		t.Errorf("without Cost: got %v, want 1", got)
	}
	b.Cost = func(params map[string]string, _ *topology.Graph) float64 {
		return float64(10*len(params["ranks-per"]) + len(params["note"]))
	}
	for _, tt := range []struct {
		params map[string]string
		want   float64
	}{{nil, 20}, {map[string]string{"ranks-per": "sip", "note": "four"}, 34}, {map[string]string{"ranks-per": "x"}, 1}} {
		var o Options
		o.Params = tt.params
		if got := b.CostOf(o); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.params, got, tt.want)
		}
	}
}

// TestRegisterParams checks that Register panics if a parameter has an invalid name or
// default, has no usage, or is declared twice.
func TestRegisterParams(t *testing.T) {
	isolateRegistry(t)
	Register(echo)
	good := Bench{Name: "other", Summary: "s", Run: doNothing, Params: []Param{echo.Params[0]}}
	good.Params[0].Default = "sip" // the same parameter may have another default in another bench
	Register(good)
	for _, tt := range []struct {
		params []Param
		want   string
	}{
		{[]Param{{Name: "Ranks", Usage: "u"}}, `x: "Ranks" is no name for a parameter`},
		{[]Param{{Name: "ranks_per", Usage: "u"}}, `x: "ranks_per" is no name for a parameter`},
		{[]Param{{Name: "ranks"}}, "x: parameter ranks needs a Usage of one line"},
		{[]Param{{Name: "ranks", Usage: "u"}, {Name: "ranks", Usage: "u"}}, "x has two parameters ranks"},
		{[]Param{{Name: "ranks", Usage: "u", Default: "c", Values: []string{"a", "b"}}}, `x: the default of --ranks: "c": write one of a, b`},
	} {
		got := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			Register(Bench{Name: "x", Summary: "s", Run: doNothing, Params: tt.params})
			return ""
		}()
		if !strings.HasPrefix(got, "bench: "+tt.want) {
			t.Errorf("%+v: got %q, want it to begin with %q", tt.params, got, "bench: "+tt.want)
		}
	}
}

// TestParams checks that a bench receives the given values of parameters and the defaults
// of the others, and that the result contains the values of all parameters. Invalid values
// and unknown parameters must be errors.
func TestParams(t *testing.T) {
	for _, tt := range []struct {
		given map[string]string
		want  map[string]string
		head  string
	}{
		{nil, map[string]string{"ranks-per": "pe", "note": ""}, "# params: ranks-per=pe\n# fidelity: train\n\nmetric"},
		{map[string]string{"ranks-per": "sip", "note": "a b"}, map[string]string{"ranks-per": "sip", "note": "a b"}, "# params: note=a b ranks-per=sip\n# fidelity: train\n\nnote: a b\n\nmetric"},
	} {
		r := execute(t, echo, Options{Params: tt.given})
		if diff := cmp.Diff(tt.want, r.Config.Params); diff != "" {
			t.Errorf("%v: parameters (-want +got):\n%s", tt.given, diff)
		}
		if got := r.Metrics[0].Value; got != tt.want["ranks-per"] {
			t.Errorf("%v: the bench got %v, want %v", tt.given, got, tt.want["ranks-per"])
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), tt.head) {
			t.Errorf("%v: got\n%s\nwant\n%s", tt.given, text.String(), tt.head)
		}
	}
	for _, tt := range []struct {
		given map[string]string
		want  string
	}{
		{map[string]string{"ranks-per": "cube"}, `--ranks-per: "cube": write one of pe, sip`},
		{map[string]string{"ranks": "pe"}, "--ranks: no parameter of bench echo, which has [note ranks-per]"},
	} {
		_, err := echo.Execute(t.Context(), Options{Params: tt.given})
		var wrong *ParamError
		if !errors.As(err, &wrong) || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.given, err, tt.want)
		}
	}
}

// TestUndeclaredParam checks that a bench fails if it reads a parameter that it has not
// declared.
func TestUndeclaredParam(t *testing.T) {
	b := echo
	b.Run = func(b *B) error { b.Param("rank-per"); return nil }
	_, err := b.Execute(t.Context(), Options{})
	want := `torch: Param: "rank-per" is not declared: the parameters are [note ranks-per]`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want it to end with %s", err, want)
	}
}

// TestUsedCCL checks that the result of a run names the origin of ccl.yaml only if the run
// used collectives.
func TestUsedCCL(t *testing.T) {
	mine, err := ccl.Parse("my.yaml", []byte("extends: default\n"), "defaults.buffer_kind=hbm")
	if err != nil {
		t.Fatal(err)
	}
	together := Bench{Name: "together", Run: func(b *B) error {
		return b.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, dist.Backend))
			return dist.Barrier(r)
		}, 2)
	}}
	for _, tt := range []struct {
		bench  Bench
		config *ccl.Config
		want   *topology.Origin
	}{
		{together, nil, &topology.Origin{Source: "preset default", Hash: ccl.Default().Hash()}},
		{together, mine, &topology.Origin{Source: "my.yaml, --set defaults.buffer_kind=hbm", Hash: mine.Hash()}},
		{sample, mine, nil},
	} {
		r := execute(t, tt.bench, Options{Options: torch.Options{CCL: tt.config}})
		if diff := cmp.Diff(tt.want, r.Config.CCL); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.bench.Name, diff)
		}
	}
}

// TestChosenDefault checks that a configuration of collectives can set the default of a
// parameter, and that a value in the options takes precedence.
func TestChosenDefault(t *testing.T) {
	b := echo
	b.Params = slices.Clone(echo.Params)
	note := slices.IndexFunc(b.Params, func(p Param) bool { return p.Name == "note" })
	b.Params[note].Default, b.Params[note].Choose = "none", (*ccl.Config).DefaultEntry
	for _, tt := range []struct {
		defaults string
		given    map[string]string
		want     string
	}{
		{"", nil, "none"},
		{"defaults: {algorithm: ring}", nil, "none"},
		{"defaults: {algorithm: pair}", nil, "pair"},
		{"defaults: {algorithm: pair}", map[string]string{"note": "mine"}, "mine"},
	} {
		o := Options{Params: tt.given}
		if tt.defaults != "" {
			config, err := ccl.Parse("c.yaml", []byte(tt.defaults+"\nalgorithms: {pair: {}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			o.CCL = config
		}
		if got := execute(t, b, o).Config.Params["note"]; got != tt.want {
			t.Errorf("%q, given %v: the parameter is %q, want %q", tt.defaults, tt.given, got, tt.want)
		}
	}
}
