package results

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
)

// File is a table and where it was found.
type File struct {
	Name  string // within the folder that was read; of a file "", or what of it the table is
	Table *Table
}

// The names of further tables of a result: what a run says as a whole, and the times of
// every rank.
const (
	Metrics = "metrics"
	Ranks   = "ranks"
)

// Read reads the rows of a file: .csv, where lines with # are comments; .json with rows, as
// run and coll print it; .jsonl of a sweep, whose settings come before the columns of its
// rows, and which has a line for each row where a point has several. Of a run without rows
// it is the one line of its metrics.
func Read(ctx context.Context, path string) (*Table, error) {
	files, err := readFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return files[0].Table, nil
}

// ReadAll reads the tables of a file, of which one of a run has two, and one with the times
// of ranks one more, or those of the CSV files of a folder.
func ReadAll(ctx context.Context, path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unread(path, err)
	}
	if !info.IsDir() {
		return readFile(ctx, path)
	}
	var files []File
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".csv" {
			return err
		}
		t, err := Read(ctx, file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(path, file)
		files = append(files, File{filepath.ToSlash(name), t})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .csv in this folder: name a file, or a folder with results", path)
	}
	return files, err
}

func unread(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file: name a .csv, .json or .jsonl with results", path)
	}
	return fmt.Errorf("read results: %w", err)
}

const (
	maxBytes     = 256 << 20 // of a file with results
	maxLineBytes = 1 << 20   // of a row of CSV
)

// readers is how files are read, by the end of their names.
var readers = map[string]func(io.Reader) ([]File, error){".csv": readCSV, ".json": readJSON}

func readFile(ctx context.Context, path string) ([]File, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".jsonl" {
		return readSweep(ctx, path)
	}
	read := readers[ext]
	if read == nil {
		return nil, fmt.Errorf("%s: results are in files that end in .csv, .json or .jsonl", path)
	}
	r, err := file.Open(ctx, path, maxBytes)
	if err != nil {
		return nil, unread(path, err)
	}
	defer r.Close()
	files, err := read(r)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return files, nil
}

func readCSV(r io.Reader) ([]File, error) {
	t, err := ParseCSV(file.LimitLines(r, maxLineBytes))
	return []File{{"", t}}, err
}

// ParseCSV reads a table. Lines with # are comments.
func ParseCSV(in io.Reader) (*Table, error) {
	r := csv.NewReader(in)
	r.Comment = '#'
	columns, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("no line with the names of columns: the file is empty or was cut off")
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c] {
			return nil, fmt.Errorf("two columns %q: give each a name of its own", c)
		}
		seen[c] = true
	}
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	return &Table{Columns: columns, Rows: rows}, nil
}
