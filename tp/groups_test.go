package tp

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// groups returns all groups of kind k, sorted by their first ranks.
func (g *grouping) groups(k Kind) (list [][]int) {
	known := map[int]bool{}
	for _, i := range g.groupOf[k] {
		if !known[i] {
			list = append(list, g.distinct[i])
		}
		known[i] = true
	}
	return list
}

// TestGroupsOfEachKind checks the groups of each kind for worlds of different sizes.
func TestGroupsOfEachKind(t *testing.T) {
	type want map[Kind]string
	for _, c := range []struct {
		name                                     string
		world, tensor, pipeline, context, expert int
		want                                     want
	}{
		{"pipeline", 16, 2, 4, 0, 0, want{
			Tensor: "[[0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15]]", Pipeline: "[[0 4 8 12] [1 5 9 13] [2 6 10 14] [3 7 11 15]]",
			Data: "[[0 2] [1 3] [4 6] [5 7] [8 10] [9 11] [12 14] [13 15]]", Model: "[[0 1 4 5 8 9 12 13] [2 3 6 7 10 11 14 15]]",
			Embedding: "[[0 12] [1 13] [2 14] [3 15]]", PositionEmbedding: "[[0] [1] [2] [3]]",
			TensorData: "[[0 1 2 3] [4 5 6 7] [8 9 10 11] [12 13 14 15]]",
		}},
		{"context", 8, 2, 1, 2, 0, want{
			Context: "[[0 2] [1 3] [4 6] [5 7]]", Data: "[[0 4] [1 5] [2 6] [3 7]]", DataContext: "[[0 2 4 6] [1 3 5 7]]",
			TensorContext: "[[0 1 2 3] [4 5 6 7]]", TensorData: "[[0 1 4 5] [2 3 6 7]]", TensorDataContext: "[[0 1 2 3 4 5 6 7]]",
			ExpertData: "[[0 2 4 6] [1 3 5 7]]", Embedding: "[[0] [1] [2] [3] [4] [5] [6] [7]]",
		}},
		{"experts", 8, 2, 1, 1, 2, want{
			Expert: "[[0 2] [1 3] [4 6] [5 7]]", ExpertTensor: "[[0 1] [2 3] [4 5] [6 7]]", ExpertData: "[[0 4] [1 5] [2 6] [3 7]]",
			ExpertTensorModel: "[[0 1 2 3] [4 5 6 7]]", ExpertTensorModelPipeline: "[[0 1 2 3] [4 5 6 7]]", Data: "[[0 2 4 6] [1 3 5 7]]",
		}},
		{"experts of two stages beside context", 8, 1, 2, 2, 2, want{
			Expert: "[[0 1] [2 3] [4 5] [6 7]]", ExpertData: "[[0 2] [1 3] [4 6] [5 7]]", Context: "[[0 1] [2 3] [4 5] [6 7]]",
			ExpertTensorModelPipeline: "[[0 1 4 5] [2 3 6 7]]", Pipeline: "[[0 4] [1 5] [2 6] [3 7]]",
		}},
	} {
		all, err := division{c.world, c.tensor, c.pipeline, c.context, c.expert, ""}.groups()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for k, want := range c.want {
			if got := fmt.Sprint(all.groups(k)); got != want {
				t.Errorf("%s: %v:\ngot  %s\nwant %s", c.name, k, got, want)
			}
		}
	}
}

// TestEveryRankIsInOneGroupOfEachKind checks that every rank is in exactly one group of
// each kind, except that some ranks are in no embedding group.
func TestEveryRankIsInOneGroupOfEachKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(1, 3).Draw(t, name) }
		tensor, pipeline, context, expert := n("tensor"), n("pipeline"), n("context"), n("expert")
		world := tensor * pipeline * context * expert * n("data")
		all, err := division{world, tensor, pipeline, context, expert, ""}.groups()
		if err != nil {
			t.Fatal(err)
		}
		for k := range numKinds {
			list := all.groups(k)
			found := slices.Concat(list...)
			slices.Sort(found)
			once := slices.Compact(slices.Clone(found))
			if some := k == Embedding || k == PositionEmbedding; len(once) != len(found) || !some && len(once) != world {
				t.Errorf("%v: groups %v have ranks twice, or not all of %d", k, list, world)
			}
		}
	})
}

// TestInvalidSizes checks the errors for sizes and orders that do not fit a world of 8
// ranks.
func TestInvalidSizes(t *testing.T) {
	for _, c := range []struct {
		tensor, pipeline, context, expert int
		order, want                       string
	}{
		{2, 3, 1, 1, "", "tensor 2 × pipeline 3 × context 1 = 6 ranks do not divide the world of 8"},
		{2, 1, 1, 3, "", "tensor 2 × expert 3 × pipeline 1 = 6 ranks do not divide the world of 8"},
		{-1, 1, 1, 1, "", "tensor -1, pipeline 1, context 1, expert 1: sizes are at least 1, or 0 for 1"},
		{2, 0, 0, 2, "tp-dp", `order "tp-dp" leaves out ep, which has 2 ranks: add it, as in "tp-dp-ep"`},
		{1, 2, 1, 2, "pp-ep-dp", ""},
		{1, 2, 1, 2, "ep-pp-dp", `order "ep-pp-dp" has the pipelines of experts on other ranks than those of the other layers: write an order that ends with pp`},
	} {
		got := ""
		if _, err := (division{8, c.tensor, c.pipeline, c.context, c.expert, c.order}).groups(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c, got, c.want)
		}
	}
}

// TestKindsAreDocumented checks that the documentation mentions the expression for each
// kind of group.
func TestKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/write/tp.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := range numKinds {
		if want := fmt.Sprintf("`tp.Group(r, tp.%v)`", k); !strings.Contains(string(page), want) {
			t.Errorf("docs/write/tp.md lacks %s", want)
		}
	}
}
