package comm_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// elements converts `values`, which are small integers, to elements of dtype d and returns
// their bytes.
func elements(d numeric.DType, values ...int64) []byte {
	wide := make([]byte, 0, 8*len(values))
	for _, v := range values {
		wide = binary.LittleEndian.AppendUint64(wide, uint64(v))
	}
	b := make([]byte, len(values)*d.Size())
	numeric.Cast(d, b, numeric.I64, wide)
	return b
}

// TestAccumulate checks the sums after every rank has accumulated the same elements at
// every rank, all at the same time. Sums of small integers are exact in every dtype. For
// dtypes smaller than a word, the first and last element are in the middle of a word, and
// the last word is the end of the window. The signal behind the elements must stay zero.
func TestAccumulate(t *testing.T) {
	const count, rounds = 13, 5
	runOnSizes(t, func(c *comm.Comm) error {
		for _, d := range numeric.DTypes {
			size := int64(d.Size())
			w, err := c.AllocWindow((1+count)*size, 1)
			if err != nil {
				return err
			}
			mine, sums := make([]int64, count), make([]int64, 1+count)
			for i := range count {
				mine[i] = int64((i + c.Rank()) % 2)
				for rank := range c.Size() {
					sums[1+i] += rounds * int64((i+rank)%2)
				}
			}
			for range rounds {
				for peer := range c.Size() {
					if err := w.Accumulate((c.Rank()+peer)%c.Size(), size, d, elements(d, mine...)); err != nil {
						return err
					}
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			if got, want := w.Local(), elements(d, sums...); !bytes.Equal(got, want) {
				return fmt.Errorf("%v:\n got %v\nwant %v", d, got, want)
			}
			if zero, err := w.TestSignal(0, tl.EQ, 0); err != nil || !zero {
				return fmt.Errorf("%v: the signal next to the elements is zero: got %v, %v, want true", d, zero, err)
			}
			if err := w.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestAccumulateNeighbours checks the sums when four ranks add to four different elements
// that are in the same word. Each rank adds to its own element only.
func TestAccumulateNeighbours(t *testing.T) {
	const rounds = 500
	runOnBackends(t, 4, func(c *comm.Comm) error {
		w, err := c.AllocWindow(8, 0)
		if err != nil {
			return err
		}
		for range rounds {
			if err := w.Accumulate(0, int64(2*c.Rank()), numeric.I16, elements(numeric.I16, int64(c.Rank()+1))); err != nil {
				return err
			}
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if got, want := w.Peer(0), elements(numeric.I16, rounds, 2*rounds, 3*rounds, 4*rounds); !bytes.Equal(got, want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
}
