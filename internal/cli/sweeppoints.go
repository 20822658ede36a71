package cli

import (
	"io"
	"strconv"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/table"
)

// plannedPoint is an element of `kernbench sweep --dry-run --format json`.
type plannedPoint struct {
	Point    int              `json:"point"`
	Settings experiment.Point `json:"settings"`
}

// writePoints writes the points that a sweep would run.
func writePoints(w io.Writer, p *sweepPlan, shard experiment.Shard, format string) error {
	list, t := []plannedPoint{}, &table.Table{Columns: []table.Column{{Name: "point"}}}
	for _, s := range p.points[0] { // all have the same settings
		t.Columns = append(t.Columns, table.Column{Name: s.Name})
	}
	for _, i := range shard.Indices(len(p.points)) {
		list = append(list, plannedPoint{i, p.points[i]})
		row := []any{strconv.Itoa(i)}
		for _, s := range p.points[i] {
			row = append(row, s.Value)
		}
		t.Rows = append(t.Rows, row)
	}
	switch format {
	case "json":
		return table.WriteJSON(w, list)
	case "csv":
		return t.WriteCSV(w)
	}
	return t.WriteText(w)
}
