package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// partner is the rank so many places on, round a dimension of a grid of ranks.
type partner struct{ size, stride, by int }

func (x partner) of(rank int) int {
	at := rank / x.stride % x.size
	return rank + ((at+x.by)%x.size-at)*x.stride
}

// back is how a partner sees the rank.
func (x partner) back() partner { return partner{x.size, x.stride, x.size - x.by} }

// half is a step of a reduce-scatter, or the same step of an all-gather, which goes the
// other way. Blocks are counted from a rank's own, 0. There are `high` that the rank is
// not done with: it sends those from `low` on to a partner, for whom they begin at 0, and
// receives as many that are its own first ones.
//
// The last goes first. If the halves are equal, what is sent in a step is so the very
// blocks that came first in the step before, in the same order.
type half struct {
	gathers   bool
	low, high int
	to, from  tl.Port
}

func (s *half) count() int { return s.high - s.low }

// sent is the i-th block that a rank sends.
func (s *half) sent(i int) int {
	if s.gathers {
		return s.count() - 1 - i
	}
	return s.high - 1 - i
}

// received is the i-th block that a rank receives.
func (s *half) received(i int) int {
	if s.gathers {
		return s.high - 1 - i
	}
	return s.count() - 1 - i
}

// halves is the steps of a reduce-scatter, and all partners of a rank, by port.
//
// The ranks are a grid. As long as their number is even it has a dimension of two, and
// the last one is what is left, an odd number d. In that too each step halves what is
// left of s blocks, to s/2 rounded up, which is how far on the partner is: the one behind
// it sends as much. So no rank is left over, and there are ceil(log2 N) steps, in which a
// rank sends and receives N-1 blocks, of any number of ranks.
func halves(ranks int) (steps []half, partners []partner) {
	port := func(x partner) tl.Port {
		i := slices.Index(partners, x)
		if i < 0 {
			i = len(partners)
			partners = append(partners, x)
		}
		return tl.Numbered(i)
	}
	stride := 1
	for rest := ranks; rest > 1; {
		size := rest
		if rest%2 == 0 {
			size = 2
		}
		rest /= size
		for s := size; s > 1; s = tl.CDiv(s, 2) {
			by := tl.CDiv(s, 2)
			to := partner{size, stride, by}
			steps = append(steps, half{low: by * rest, high: s * rest, to: port(to), from: port(to.back())})
		}
		stride *= size
	}
	return steps, partners
}

// owners returns the rank that each block belongs to, counted from a rank's own: in a step
// the blocks from `low` on go to the partner, for whom they begin at 0.
func owners(ranks, rank int) []int {
	steps, partners := halves(ranks)
	list := slices.Repeat([]int{rank}, ranks)
	for i := range list {
		number := i
		for _, s := range steps {
			if number >= s.low {
				list[i] = partners[s.to-tl.Numbered(0)].of(list[i])
				number -= s.low
			}
		}
	}
	return list
}
