package task

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestUnorderedAgainstReference checks that Unordered returns exactly the conflicts that no
// path of edges orders.
func TestUnorderedAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, r := drawTasks(t, 1000)
		p := drawSample(r, min(n, 60)).job(false).program(t, 0)
		for i := range p.Tasks { // some edges
			p.Tasks[i].After = nil
			for b := range i {
				if r.IntN(5) == 0 {
					p.Tasks[i].After = append(p.Tasks[i].After, ID(b))
				}
			}
		}
		path := make([][]bool, len(p.Tasks)) // [i][b]: there is a path of edges from task b to task i
		var want []string
		for i, before := range p.Dependencies(true) {
			path[i] = make([]bool, len(p.Tasks))
			for _, b := range p.Tasks[i].After {
				path[i][b] = true
				for k := range p.Tasks {
					path[i][k] = path[i][k] || path[b][k]
				}
			}
			for _, b := range before {
				if !path[i][b] {
					want = append(want, fmt.Sprint(b, " ", i))
				}
			}
		}
		var got []string
		for _, u := range p.Unordered() {
			got = append(got, fmt.Sprint(u.Earlier, " ", u.Later))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestMissingEdge checks that the race check under aicpu_build_graph reports a missing edge
// even if both tasks have run on the same PE, one after the other. Under the other
// runtimes, the same program must have no races.
func TestMissingEdge(t *testing.T) {
	for _, r := range Runtimes {
		self := newSystem(t, "default", torch.Options{Race: true})
		x := vector(t, self)
		_, err := Run(self, Options{Runtime: r, Config: loadConfig(t, "control.compute_cores=1"), Devices: []int{0}}, func(b *Builder) {
			own := b.Tensor(x)
			b.Submit("write", increment, Args{InOut("x", own.Rows(0, 2)), Scalar("n", 2)})
			b.Submit("read", func(t *tl.PE, x tl.Ptr) { t.Load(x, tl.Shape{4}, tl.F32) }, Args{In("x", own)})
		})
		if err != nil {
			t.Fatal(err)
		}
		races, err := self.Races()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if r == AICPUBuildGraph {
			want = []string{"rank 0: write (task 0), submitted at L, and read (task 1), at L, conflict in tensor0[0:4], and no edge orders them: submit the second with task.After"}
		}
		for i := range races {
			races[i] = regexp.MustCompile(`at unordered_test\.go:\d+`).ReplaceAllString(races[i], "at L")
		}
		if !slices.Equal(races, want) {
			t.Errorf("%s: races %q, want %q", r, races, want)
		}
	}
}
