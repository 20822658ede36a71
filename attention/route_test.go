package attention

import (
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/tl"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// checkRoutes checks that every place of g receives the shard of every other place once,
// through the port that entryPort returns. A place must send only shards that it owns or
// has received at an earlier step, and as often as countSends returns.
func checkRoutes(t interface{ Fatalf(string, ...any) }, g grid) {
	for place := range g.places() {
		received, sent := make([]int, g.places()), make([]int, g.places())
		have := make([]bool, g.places())
		have[place] = true
		for step := range g.steps() {
			for _, p := range ports {
				if owner := g.outgoing(place, p, step); owner >= 0 {
					if !have[owner] {
						t.Fatalf("%v: place %d sends shard %d %v at step %d, and does not have it", g, place, owner, p, step)
					}
					sent[owner]++
				}
			}
			for _, p := range ports {
				if from := g.incoming(place, p, step); from >= 0 {
					if want := g.entryPort(place, from); want != p {
						t.Fatalf("%v: shard %d arrives at place %d through %v, want %v", g, from, place, p, want)
					}
					received[from]++
					have[from] = true
				}
			}
		}
		for owner := range g.places() {
			want := 1
			if owner == place {
				want = 0
			}
			if received[owner] != want || sent[owner] != g.countSends(place, owner) {
				t.Fatalf("%v: shard %d arrived at place %d %d times and was sent %d times, want %d and %d", g, owner, place, received[owner], sent[owner], want, g.countSends(place, owner))
			}
		}
		for _, p := range ports {
			if owner := g.incoming(place, p, g.steps()); owner >= 0 {
				t.Fatalf("%v: shard %d arrives at place %d after the last step", g, owner, place)
			}
		}
	}
}

// TestRoutes runs checkRoutes on meshes of random sizes, up to 9×9.
func TestRoutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkRoutes(t, grid{rapid.IntRange(1, 9).Draw(t, "w"), rapid.IntRange(1, 9).Draw(t, "h")})
	})
}

// TestIncoming checks in which order the shards of a 4×3 mesh arrive at place 5, which is
// in column 1 of row 1:
//
//	0 1  2  3
//	4 5  6  7
//	8 9 10 11
func TestIncoming(t *testing.T) {
	g := grid{4, 3}
	for _, want := range []struct {
		port   tl.Port
		shards []int
	}{{tl.West, []int{4}}, {tl.East, []int{6, 7}}, {tl.North, []int{1, 0, 2, 3}}, {tl.South, []int{9, 8, 10, 11}}} {
		var got []int
		for step := range g.steps() {
			if from := g.incoming(5, want.port, step); from >= 0 {
				got = append(got, from)
			}
		}
		if !slices.Equal(got, want.shards) {
			t.Errorf("from the %v: got %v, want %v", want.port, got, want.shards)
		}
	}
}
