package compare

import (
	"encoding/json"
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
	limit := number(json.Number(percent))
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

// of returns the threshold of a column.
func (t *Thresholds) of(column string) *big.Rat {
	if limit := t.column[column]; limit != nil {
		return limit
	}
	if t.all != nil {
		return t.all
	}
	return new(big.Rat)
}
