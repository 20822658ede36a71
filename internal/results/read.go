package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a table and where it was found.
type File struct {
	Name  string // within the folder that was read; of a file "", or what of it the table is
	Table *Table
}

// Metrics is the name of what a run says as a whole, beside its rows.
const Metrics = "metrics"

// Read reads the rows of a file: .csv, where lines with # are comments; .json with rows, as
// run and coll print it; .jsonl of a sweep, whose settings come before the columns of its
// rows, and which has a line for each row where a point has several. Of a run without rows
// it is the one line of its metrics.
func Read(path string) (*Table, error) {
	files, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return files[0].Table, nil
}

// ReadAll reads the tables of a file, of which one of a run has two, or those of the CSV
// files of a folder.
func ReadAll(path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unread(path, err)
	}
	if !info.IsDir() {
		return readFile(path)
	}
	var files []File
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".csv" {
			return err
		}
		t, err := Read(file)
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

// readers is how files are read, by the end of their names.
var readers = map[string]func(text []byte) ([]File, error){".csv": readCSV, ".json": readJSON, ".jsonl": readSweep}

func readFile(path string) ([]File, error) {
	read := readers[strings.ToLower(filepath.Ext(path))]
	if read == nil {
		return nil, fmt.Errorf("%s: results are in files that end in .csv, .json or .jsonl", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unread(path, err)
	}
	files, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return files, nil
}

func readCSV(text []byte) ([]File, error) {
	t, err := ParseCSV(text)
	return []File{{"", t}}, err
}

// ParseCSV reads a table from text. Lines with # are comments.
func ParseCSV(text []byte) (*Table, error) {
	r := csv.NewReader(bytes.NewReader(text))
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
