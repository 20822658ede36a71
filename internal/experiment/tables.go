package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/table"
)

// Names of further tables of a result: the metrics of a run, and the times of every rank.
const (
	Metrics = "metrics"
	Ranks   = "ranks"
)

// ReadTables reads the tables of a file of results ([ReadFile]), or of all CSV files in a
// folder. The name of a table is the path of its CSV file in the folder.
func ReadTables(ctx context.Context, path string) (tables []table.Named, missing int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, readError(path, err)
	}
	if !info.IsDir() {
		return ReadFile(ctx, path)
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".csv" {
			return err
		}
		read, _, err := ReadFile(ctx, name)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(path, name)
		tables = append(tables, table.Named{Name: filepath.ToSlash(within), Table: read[0].Table})
		return err
	})
	if err == nil && len(tables) == 0 {
		err = fmt.Errorf("%s: no .csv in this folder: name a file, or a folder with results", path)
	}
	return tables, 0, err
}

// readError returns the error for a file that cannot be read.
func readError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file: name a .csv, .json or .jsonl with results", path)
	}
	return fmt.Errorf("read results: %w", err)
}

const (
	maxTableBytes   = 256 << 20 // largest CSV or JSON file
	maxCSVLineBytes = 1 << 20
)

// ReadFile reads the tables of a file of results. The file is a .csv, a .json that one of
// the commands run, coll, probe and sweep printed, or a .jsonl of an experiment. The first
// table has the rows and no name. For a run without rows, the only table is its metrics.
// `missing` is the number of points of the experiment, or of its shard, that the file does
// not have.
func ReadFile(ctx context.Context, path string) (tables []table.Named, missing int, err error) {
	ext := strings.ToLower(filepath.Ext(path))
	read := map[string]func(io.Reader) ([]table.Named, error){".csv": readCSV, ".json": readJSON}[ext]
	if ext == ".jsonl" {
		return readLines(ctx, path)
	} else if read == nil {
		return nil, 0, fmt.Errorf("%s: results are in files that end in .csv, .json or .jsonl", path)
	}
	r, err := file.Open(ctx, path, maxTableBytes)
	if err != nil {
		return nil, 0, readError(path, err)
	}
	defer r.Close()
	tables, err = read(r)
	switch {
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case err != nil:
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return tables, 0, nil
}

func readCSV(r io.Reader) ([]table.Named, error) {
	t, err := table.ReadCSV(file.LimitLines(r, maxCSVLineBytes))
	return []table.Named{{Table: t}}, err
}

// runColumns are the columns of a run as a whole. They precede its metrics.
var runColumns = []table.Column{
	{Name: "bench", Role: table.Setting}, {Name: "ok", Role: table.Check}, {Name: "crit_ns", Unit: "ns", Role: table.Lower, Label: "critical path"},
	{Name: "makespan_ns", Unit: "ns", Role: table.Lower},
}

// readJSON reads the output of a command with --format json.
func readJSON(r io.Reader) ([]table.Named, error) {
	o, err := table.Decode(r)
	if err != nil {
		return nil, err
	}
	schema, err := table.ReadSchema(o)
	if err != nil {
		return nil, err
	}
	if points, ok := o.Get("points").([]any); ok && o.Get("sweep") != nil {
		t, err := PointTable(schema, points)
		return []table.Named{{Table: t}}, err
	}
	ranks := rankTable(schema, o)
	delete(schema, "launches")
	if o.Get("bench") != nil {
		whole := table.Record{}
		for _, c := range runColumns {
			whole = append(whole, table.Member{Name: c.Name, Value: o.Get(c.Name)})
		}
		metrics, _ := o.Get(Metrics).(table.Record)
		o = slices.DeleteFunc(o, func(m table.Member) bool { return m.Name == Metrics })
		o = append(o, table.Member{Name: Metrics, Value: append(whole, metrics...)})
		schema[Metrics] = slices.Concat(runColumns, schema[Metrics])
	}
	tables, err := table.ReadJSON(o, schema)
	if err == nil && ranks != nil {
		tables = append(tables, table.Named{Name: Ranks, Table: ranks})
	}
	for i := range tables {
		tables[i].About = describeRows(o)
	}
	return tables, err
}

// describeRows returns a text about what all rows in a command's output have in common: the
// bench or collective, and the topology.
func describeRows(o table.Record) string {
	var words []string
	flat := o.Flat()
	for _, name := range []string{"bench", "collective", "topology.source", "config.topology.source"} {
		if text := table.Text(flat.Get(name)); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, ", ")
}

// rankTable returns a table with the time of each rank, from the rows of coll or the
// launches of a run. Each line has the number of the row or launch, its settings or name,
// the rank and the time. The result is nil if the output has no times of ranks.
func rankTable(schema table.Schema, o table.Record) *table.Table {
	var lines []table.Record
	columns := []table.Column{{Name: "row", Role: table.Setting}}
	for _, source := range []struct {
		member string
		about  []string
	}{{"rows", []string{"size", "count", "type", "redop", "root", "algorithm"}}, {"launches", []string{"name"}}} {
		list, _ := o.Get(source.member).([]any)
		for i, v := range list {
			row, _ := v.(table.Record)
			times, _ := row.Get("pe_exec_ns").([]any)
			ranks, _ := row.Get("ranks").([]any)
			for j, t := range times {
				line := table.Record{{Name: "row", Value: json.Number(strconv.Itoa(i + 1))}}
				for _, name := range source.about {
					line = append(line, table.Member{Name: name, Value: row.Get(name)})
				}
				rank := any(json.Number(strconv.Itoa(j)))
				if j < len(ranks) {
					rank = ranks[j]
				}
				lines = append(lines, append(line, table.Member{Name: "rank", Value: rank}, table.Member{Name: "pe_exec_ns", Value: t}))
			}
		}
		if len(lines) == 0 {
			continue
		}
		for _, name := range source.about {
			c := table.Column{Name: name, Role: table.Setting}
			if i := slices.IndexFunc(schema[source.member], func(c table.Column) bool { return c.Name == name }); i >= 0 {
				c = schema[source.member][i]
			}
			columns = append(columns, c)
		}
		columns = append(columns, table.Column{Name: "rank", Role: table.Setting}, table.Column{Name: "pe_exec_ns", Unit: "ns", Role: table.Lower, Label: "execution time"})
		return table.FromRecords(columns, lines)
	}
	return nil
}
