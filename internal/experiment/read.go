package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/table"
)

// Results is what a file of results has.
type Results struct {
	Points  []Result // in the order of the file
	Missing int      // points of the sweep, or of its shard, that the file does not have
	Schema  table.Schema
}

// Result is the row of a point.
type Result struct {
	Point    int             // its index
	Settings json.RawMessage // an object
	Row      json.RawMessage
}

// Read reads a file of results. A damaged one is refused.
func Read(ctx context.Context, name string) (*Results, error) {
	c, err := load(ctx, name)
	switch {
	case errors.Is(err, errForeign):
		return nil, fmt.Errorf(`%s: the first line does not tell of a sweep, {"sweep": ...}`, name)
	case err != nil:
		return nil, err
	}
	if len(c.records) == 0 {
		return nil, fmt.Errorf("%s: no point in it: the sweep ended before the first", name)
	}
	r := &Results{Missing: c.missing(), Schema: c.header.Schema}
	for _, rec := range c.records {
		r.Points = append(r.Points, Result(rec))
	}
	return r, nil
}
