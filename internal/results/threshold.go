package results

import (
	"fmt"
	"math/big"
	"strings"
)

// Thresholds says by how much a value may change and still count as equal, as a share of
// what it was. The zero value allows nothing.
type Thresholds struct {
	all    *big.Rat
	column map[string]*big.Rat
}

// Set reads a threshold: "2%" for all columns, or "latency_ns=0.5%" for one.
func (t *Thresholds) Set(text string) error {
	column, share, single := strings.Cut(text, "=")
	if !single {
		column, share = "", text
	}
	percent, is := strings.CutSuffix(share, "%")
	limit := number(percent)
	if limit == nil || limit.Sign() < 0 || !is && limit.Sign() != 0 || single && column == "" {
		return fmt.Errorf("threshold %q: write a share such as 2%% or 0, or one of a column, latency_ns=2%%", text)
	}
	limit.Quo(limit, big.NewRat(100, 1))
	if !single {
		t.all = limit
		return nil
	}
	if t.column == nil {
		t.column = map[string]*big.Rat{}
	}
	t.column[column] = limit
	return nil
}

// of is the threshold of a column.
func (t *Thresholds) of(column string) *big.Rat {
	if limit := t.column[column]; limit != nil {
		return limit
	}
	if t.all != nil {
		return t.all
	}
	return new(big.Rat)
}

// number is a cell as the decimal that is written, nil if it is none.
func number(cell string) *big.Rat {
	x, ok := finite(cell)
	if !ok {
		return nil
	}
	if x == 0 {
		return new(big.Rat) // also what is too small for a float: its exponent may be of any size
	}
	r, ok := new(big.Rat).SetString(cell)
	if !ok {
		return nil
	}
	return r
}
