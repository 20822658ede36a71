package builtin

import (
	"errors"
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/torch"
)

// TestAttentionOver runs attention with several numbers of heads and both kinds of holders,
// and checks values and races. The numbers of tokens are not multiples of the number of
// holders.
func TestAttentionOver(t *testing.T) {
	for _, over := range []string{"pe", "cube"} {
		for _, scale := range []string{"4", "8"} {
			for name, params := range map[string]map[string]string{
				"attention_prefill": {"tokens": "77", "mask": "none"},
				"attention_decode":  {"tokens": "3", "context": "333"},
			} {
				params["over"], params["scale"] = over, scale
				r := execute(t, name, bench.Options{Params: params, Options: torch.Options{Race: true}})
				if !r.OK || len(r.Checks) != 2 {
					t.Errorf("%s %v: ok %v after %d checks, want true after 2\n%v %v", name, params, r.OK, len(r.Checks), r.Wrong(), r.Races)
				}
			}
		}
	}
}

// TestAttentionRows checks that the order pass_first takes at most as long as
// compute_first, and that decoding in one launch takes at most as long as in two. It also
// checks that the parts of a row's time add up to the total.
func TestAttentionRows(t *testing.T) {
	for name, column := range map[string]string{"attention_prefill": "order", "attention_decode": "phase"} {
		crit := map[string]torch.Time{}
		for _, row := range rowsOf(execute(t, name, bench.Options{Options: torch.Options{NoData: true}})) {
			crit[value[string](t, row, column)] = value[torch.Time](t, row, "crit_ns")
			var sum torch.Time
			for _, part := range table.ColumnsOf(breakdown{})[1:5] {
				sum += value[torch.Time](t, row, part.Name)
			}
			if total := value[torch.Time](t, row, "total_ns"); sum != total || total < value[torch.Time](t, row, "crit_ns") {
				t.Errorf("%s: parts are %v together, want total_ns %v, and that at least crit_ns %v", name, sum, total, value[torch.Time](t, row, "crit_ns"))
			}
		}
		if crit["pass_first"] > crit["compute_first"] {
			t.Errorf("pass_first takes %v, want at most the %v of compute_first", crit["pass_first"], crit["compute_first"])
		}
		if apart := crit["local"] + crit["merge"]; crit["both"] > apart {
			t.Errorf("decoding in one launch takes %v, want at most the %v of two", crit["both"], apart)
		}
	}
}

// TestAttentionParams checks that a wrong number of tokens is a ParamError.
func TestAttentionParams(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"attention_prefill": {"tokens": "0"},
		"attention_decode":  {"tokens": "5", "context": "4"},
	} {
		b, _ := bench.Find(name)
		_, err := b.Execute(t.Context(), bench.Options{Params: params})
		var wrong *bench.ParamError
		if !errors.As(err, &wrong) || wrong.Name != "tokens" {
			t.Errorf("%s %v: got %v, want an error of tokens", name, params, err)
		}
	}
}

// TestAttentionPrecisions checks the values of attention with each dtype.
func TestAttentionPrecisions(t *testing.T) {
	for _, precision := range []string{"f16", "bf16", "f32"} {
		for name, params := range map[string]map[string]string{
			"attention_prefill": {"tokens": "72"}, "attention_decode": {"context": "200", "tokens": "2"},
		} {
			params["dtype"] = precision
			if r := execute(t, name, bench.Options{Params: params}); !r.OK || len(r.Checks) != 2 {
				t.Errorf("%s %v: ok %v after %d checks, want true after 2: %v", name, params, r.OK, len(r.Checks), r.Wrong())
			}
		}
	}
}
