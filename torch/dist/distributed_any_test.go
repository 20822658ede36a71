package dist_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestCollectivesTakeTheSameTimeWithoutValues checks that the statistics of a collective
// are the same in a run with values and in a run without.
func TestCollectivesTakeTheSameTimeWithoutValues(t *testing.T) {
	var want dist.Stats
	for _, without := range []bool{false, true} {
		o := trialOptions(t)(trial{})
		o.NoData = without
		l := hostedtest.New(t, o)
		err := l.Spawn(func(r *torch.Rank) error {
			err := dist.InitProcessGroup(r, "ahbm")
			x := hostedtest.Full(r, r.Rank(), 5000)
			return errors.Join(err, dist.AllReduce(r, x, dist.SUM), x.CopyFrom(make([]float64, 5000)), dist.Broadcast(r, x, 2))
		}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !without {
			want = dist.Last(l.Context)
		} else if !reflect.DeepEqual(dist.Last(l.Context), want) || want.Crit == 0 {
			t.Errorf("without values %+v, want %+v", dist.Last(l.Context), want)
		}
	}
}

// TestCollectivesHaveNoRaces checks that no collective has a race with any algorithm.
// Messages go through queues and, with many PEs, through inboxes in memory.
func TestCollectivesHaveNoRaces(t *testing.T) {
	options := trialOptions(t)
	for _, name := range names() {
		for i, algorithm := range algorithms(name) {
			for _, spawned := range []bool{false, true} {
				if strings.HasSuffix(name, "_coalesced") && (i%3 > 0 || !spawned) {
					continue
				}
				tr := defaultTrial(name, spawned, 12)
				if spawned {
					tr = defaultTrial(name, spawned, 4)
				}
				tr.algorithm, tr.rows, tr.layout, tr.chunk = algorithm, []int{48}, layouts[1], 32
				if !tr.possible() {
					continue
				}
				o := options(tr)
				o.Race = true
				if err := tr.run(o); err != nil {
					t.Errorf("%v: %v", tr, err)
				}
			}
		}
	}
}

// TestAnyCollective runs random collectives with random settings and checks the values. The
// flag -rapid.checks sets the number of collectives.
func TestAnyCollective(t *testing.T) {
	options := trialOptions(t)
	rapid.Check(t, func(t *rapid.T) {
		tr := trial{
			spawned:    rapid.Bool().Draw(t, "spawned"),
			collective: rapid.SampledFrom(names()).Draw(t, "collective"),
			algorithm:  rapid.SampledFrom(ccl.Names()).Draw(t, "algorithm"),
			world:      rapid.IntRange(1, 7).Draw(t, "world"),
			dtype:      rapid.SampledFrom(numeric.DTypes).Draw(t, "dtype"),
			rows:       rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 3, 5, 8, 13, 100}), 1, 5).Draw(t, "rows"),
			width:      rapid.IntRange(0, 4).Draw(t, "width"),
			async:      rapid.Bool().Draw(t, "async"),
			chunk:      rapid.SampledFrom([]topology.Bytes{0, 16, 64}).Draw(t, "chunk"),
		}
		tr.group = rapid.Permutation(lists.Count(0, tr.world)).Draw(t, "ranks")[:rapid.IntRange(1, tr.world).Draw(t, "members")]
		tr.root = rapid.IntRange(0, len(tr.group)-1).Draw(t, "root")
		tr.reduction = rapid.SampledFrom(slices.DeleteFunc(slices.Clone(reductions), func(r reduction) bool { return !r.serves(tr.dtype) })).Draw(t, "reduction")
		tr.layout = layouts[0]
		switch {
		case !tr.spawned:
			tr.rows = rowsOnPEs(tr.rows, len(tr.group))
		case tr.collective == "all_reduce" && tr.reduction.sums():
			tr.layout = rapid.SampledFrom(slices.Concat(layouts, partialLayouts)).Draw(t, "layout")
		default:
			tr.layout = rapid.SampledFrom(layouts).Draw(t, "layout")
		}
		if !tr.possible() {
			t.Skip("this combination does not exist")
		}
		err := tr.run(options(tr))
		if err != nil && !(tr.onPartsOfTensor() && tr.layout.scattered && strings.Contains(err.Error(), scatteredError)) {
			t.Fatalf("%v: %v", tr, err)
		}
	})
}

// TestAnyMixOfLayouts runs collectives on tensors with random layouts, which may differ
// from each other, and on slices of such tensors. It checks that each collective either is
// refused or gives the right values.
func TestAnyMixOfLayouts(t *testing.T) {
	options := trialOptions(t)
	split := rapid.SampledFrom([]torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise})
	layouts := rapid.Custom(func(t *rapid.T) mixedLayout {
		return mixedLayout{
			on:       torch.DPPolicy{Cube: split.Draw(t, "Cube"), PE: split.Draw(t, "PE"), NumCubes: rapid.IntRange(1, 2).Draw(t, "NumCubes"), NumPEs: rapid.IntRange(1, 3).Draw(t, "NumPEs")},
			other:    rapid.IntRange(0, 3).Draw(t, "other") == 0,
			reversed: rapid.IntRange(0, 3).Draw(t, "turned") == 0,
			before:   max(0, rapid.IntRange(-3, 4).Draw(t, "before")),
			behind:   max(0, rapid.IntRange(-3, 4).Draw(t, "behind")),
		}
	})
	refusals := []string{scatteredError, "lay them out alike", "the ranks do not agree", "has room for", "there are 2 ranks and", "there are 3 ranks and", "that add up to", "do not divide by"}
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		tr := defaultTrial(rapid.SampledFrom(names()).Draw(t, "collective"), true, rapid.IntRange(2, 3).Draw(t, "world"))
		tr.rows = rapid.SliceOfN(rapid.IntRange(0, 6), 1, 3).Draw(t, "rows")
		tr.width = rapid.IntRange(1, 4).Draw(t, "width")
		tr.algorithm = rapid.SampledFrom(algorithms(tr.collective)).Draw(t, "algorithm")
		tr.mix = rapid.SliceOfN(layouts, 1, 4).Draw(t, "layouts")
		err := tr.run(options(tr))
		if err == nil {
			done++
			return
		}
		if !slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			t.Fatalf("%v of %+v: %v", tr, tr.mix, err)
		}
	})
	if done == 0 {
		t.Error("all collectives are refused")
	}
}
